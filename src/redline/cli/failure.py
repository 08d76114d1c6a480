"""An error that ends a command: what was wrong, what to do next, and the exit code.

Exit codes: 0 done; 1 it was tried and did not succeed (a turn that failed or that the agent ended by itself, a refused
undo); 2 wrong use or configuration;
3 no such session, file or turn; 4 the store cannot be used (newer, full, unreadable, in use); 130 interrupted by
Ctrl-C, 143 by a kill (SIGTERM), 129 by a terminal that was closed (SIGHUP).
"""

from __future__ import annotations


class Failure(Exception):  # noqa: N818 - it is what the user reads of
    def __init__(self, exit_code: int, code: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{code}: {message} {remedy}".rstrip())
        self.exit_code = exit_code
        self.code = code
        self.message = message
        self.remedy = remedy
