"""Laying out a diff of 64 KiB for each chat platform, from the record to what is sent.

Beside it what one would pick instead: Python's `textwrap` over the escaped text, each piece in a fence (it cuts where
words end, so lines are torn and escapes too). The same text goes into both. Median of 30 runs, CPU time.

    python benchmarks/chat_layout.py
"""

from __future__ import annotations

import html
import statistics
import textwrap
import time
from typing import TYPE_CHECKING

from redline.changes.compare import describe
from redline.surfaces.chat import cards
from redline.surfaces.chat.paginate import Measure, paginate
from redline.surfaces.chat.parts import Message
from redline.surfaces.discord import layout
from redline.surfaces.slack import blocks as slack
from redline.surfaces.telegram import rich

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 64 * 1024
RUNS = 30


def main() -> None:
    lines = [f"    total_{n} = compute(values[{n}], weights[{n}])  # caf\u00e9 & <b>\n" for n in range(6000)]
    after = [line.replace("compute", "recompute") if n % 2 else line for n, line in enumerate(lines)]
    change = describe("/w/a.py", "".join(lines).encode(), "".join(after).encode())
    while len(cards.hunk_text(change).encode()) > SIZE:
        lines, after = lines[:-50], after[:-50]
        change = describe("/w/a.py", "".join(lines).encode(), "".join(after).encode())
    setting = cards.Setting(workspace="/w")
    text = cards.hunk_text(change)
    print(f"{len(text.encode())} bytes, {text.count(chr(10)) + 1} lines")

    def laid_out(measure: Measure, sent: Callable[[Message], object]) -> Callable[[], object]:
        def run() -> object:
            pages = paginate(cards.whole(change, setting, cards.head(change, setting, "Edited")), measure)
            return [sent(page) for page in pages if isinstance(page, Message)]

        return run

    _report("Slack", laid_out(slack.MEASURE, slack.blocks), _wrapped(text, 12_000))
    _report("Discord", laid_out(layout.MEASURE, layout.view), _wrapped(text, 3_900))
    _report("Telegram, rich", laid_out(rich.RICH, rich.rich_message), _wrapped(text, 30_000))
    _report(
        "Telegram, HTML", laid_out(rich.HTML, rich.html_text), _wrapped(text, 4_000)
    )


def _wrapped(text: str, limit: int) -> Callable[[], object]:
    def run() -> object:
        wrapped = textwrap.wrap(html.escape(text), limit, replace_whitespace=False, drop_whitespace=False)
        return [f"<pre>{piece}</pre>" for piece in wrapped]

    return run


def _report(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    mine, other = _median(ours), _median(theirs)
    print(f"{name:16} Redline {mine:6.2f} ms   textwrap {other:6.2f} ms   ratio {mine / other:.2f}")


def _median(run: Callable[[], object]) -> float:
    run()
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
