"""Runs every benchmark in this folder and prints its table; `--json` prints one object by name.

Each file measures one figure beside what a user would pick instead, in the same run. Compare ratios, not times: the
machine is whatever it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    as_json = "--json" in sys.argv[1:]
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    found: dict[str, object] = {}
    failed = []
    for path in sorted(HERE.glob("*.py")):
        if path.name == Path(__file__).name or (wanted and path.stem not in wanted):
            continue
        print(f"== {path.stem}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, str(path), *(["--json"] if as_json else [])],
            stdout=subprocess.PIPE if as_json else None,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            failed.append(path.stem)
        elif as_json:
            found[path.stem] = json.loads(done.stdout)
    if as_json:
        print(json.dumps(found, indent=2))
    for name in failed:
        print(f"{name} did not finish", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
