"""Laying out a diff of 64 KiB for each chat platform, from the record to what is sent.

Beside it what one would pick instead: Python's `textwrap` over the escaped text, each piece in a fence (it cuts where
words end, so lines are torn and escapes too). The same text goes into both. Median of 30 runs, CPU time.

    python benchmarks/chat_layout.py [--json]
"""

from __future__ import annotations

import html
import json
import statistics
import sys
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

    from redline.changes.record import FileChange

SIZE = 64 * 1024
RUNS = 30
HERE = cards.Setting(workspace="/w")


def main() -> None:
    change = _change()
    text = cards.hunk_text(change)
    rows = {
        "Slack": (_laid_out(change, slack.MEASURE, slack.blocks), 12_000),
        "Discord": (_laid_out(change, layout.MEASURE, layout.view), 3_900),
        "Telegram, rich": (_laid_out(change, rich.RICH, rich.rich_message), 30_000),
        "Telegram, HTML": (_laid_out(change, rich.HTML, rich.html_text), 4_000),
    }
    found = {}
    for name, (ours, limit) in rows.items():
        mine, other = _median(ours), _median(_wrapped(text, limit))
        found[name] = {"redline_ms": round(mine, 2), "textwrap_ms": round(other, 2), "ratio": round(mine / other, 2)}
    if "--json" in sys.argv[1:]:
        print(json.dumps(found))
        return
    print(f"{len(text.encode())} bytes, {text.count(chr(10)) + 1} lines")
    for name, row in found.items():
        print(
            f"{name:16} Redline {row['redline_ms']:6.2f} ms   textwrap {row['textwrap_ms']:6.2f} ms   x{row['ratio']}"
        )


def _change() -> FileChange:
    before = [f"    total_{n} = compute(values[{n}], weights[{n}])  # caf\u00e9 & <b>\n" for n in range(6000)]
    while True:
        after = [line.replace("compute", "recompute") if n % 2 else line for n, line in enumerate(before)]
        change = describe("/w/a.py", "".join(before).encode(), "".join(after).encode())
        if len(cards.hunk_text(change).encode()) <= SIZE:
            return change
        before = before[: -max(1, len(before) // 50)]


def _laid_out(change: FileChange, measure: Measure, sent: Callable[[Message], object]) -> Callable[[], object]:
    def run() -> object:
        pages = paginate(cards.whole(change, HERE, cards.head(change, HERE, "Edited")), measure)
        return [sent(page) for page in pages if isinstance(page, Message)]

    return run


def _wrapped(text: str, limit: int) -> Callable[[], object]:
    def run() -> object:
        wrapped = textwrap.wrap(html.escape(text), limit, replace_whitespace=False, drop_whitespace=False)
        return [f"<pre>{piece}</pre>" for piece in wrapped]

    return run


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
