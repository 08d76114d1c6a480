"""The dashboard in Chromium: opening a long session, and being used while updates pour in.

    python benchmarks/dashboard.py [--rounds 5] [--messages 2000] [--cards 1000] [--seconds 60] [--rate 500] [--json]

Opening: a session with so many messages and cards of about forty diff lines, beside the same page with every row
loaded and every card's viewer mounted, in turns. Figures are medians: CPU time of the page's main thread until it has
come to rest, the longest task of that thread (as the clock on the wall saw it, and by its own CPU time), and elements.
Using: an agent sends updates at that rate (pieces of text, and every tenth one a state of a call) while somebody types
in the composer; figures are the delay from a key to its handler, the memory after a collection at a third of the time
and at the end, and the CPU share of the page.

Elsewhere: how soon a row that another process commits is on the page.

Needs a Chromium: see tests/browser/chromium.py.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import expect, sync_playwright

from agents.acp.puppetry import PUPPET
from browser import chromium
from browser.house import House, Server, Story, step
from redline.changes.compare import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, CDPSession, Page

    from redline.changes.record import FileChange

TURNS = 100
REST_SECONDS = 1.0
"""The page has come to rest when its main thread was idle for so long, up to `IDLE_SHARE`."""
IDLE_SHARE = 0.02
LONGEST_WAIT = 240
KEYS_A_SECOND = 10

WATCH = """
window.__longest = 0;
window.__long = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) {
    window.__longest = Math.max(window.__longest, task.duration);
    window.__long += 1;
  }
}).observe({ type: "longtask", buffered: true });
window.__delays = [];
addEventListener("keydown", (event) => window.__delays.push(performance.now() - event.timeStamp), { capture: true });
"""


def long_story(workspace: Path, messages: int, cards: int) -> Story:
    """A session of a hundred turns: prompts and replies, and calls that each changed one file of real Python."""
    chance = random.Random(20261201)
    changes = changes_of_real_code(workspace, chance)
    story = Story(workspace)
    for turn in range(TURNS):
        if turn:
            story.begin(f"Prompt {turn + 1}: go on with the next part.")
        for number in range(messages // TURNS - 1):
            story.say(f"Step {number + 1}. I look at `module_{number}` first, then **change** it:\n\n- one\n- two\n")
            if number % 2 == 0 and number // 2 < cards // TURNS:
                story.call("edit", [next(changes)], arguments={"path": "module.py"})
        if turn == TURNS - 1:
            story.say("The end.")
        story.end()
    return story


def changes_of_real_code(workspace: Path, chance: random.Random) -> Iterator[FileChange]:
    """Windows of the standard library's files with a few lines changed, each in a file of its own."""
    texts = [path.read_bytes() for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))]
    lines = [text.splitlines(keepends=True) for text in texts if len(text) > 20_000]
    number = 0
    while True:
        source = chance.choice(lines)
        start = chance.randrange(len(source) - 120)
        before = source[start : start + 120]
        after = list(before)
        for place in sorted(chance.sample(range(5, 115, 9), 4), reverse=True):
            after[place : place + 1] = [b"    changed_%d = %d\n" % (place, number), after[place].replace(b"e", b"i")]
        number += 1
        yield describe(str(workspace / f"package/module_{number}.py"), b"".join(before), b"".join(after))


def opened(browser: Browser, house: House, session: str, cards: int, *, everything: bool) -> dict[str, float]:
    """Open a session in a fresh window and measure until the page has come to rest."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LONGEST_WAIT * 1000)
    page.goto(house.server.address)
    page.wait_for_load_state("load")
    page.goto("about:blank")
    page.add_init_script(WATCH)
    metrics = _metrics_of(page)
    before = _task_seconds(metrics)
    began = time.perf_counter()
    page.goto(f"{house.server.origin}/{'?mount=all' if everything else ''}#/s/{session}")
    end = page.get_by_text("The end.", exact=True)
    end.wait_for()
    if everything:
        expect(page.locator("diffs-container")).to_have_count(cards, timeout=LONGEST_WAIT * 1000)
    settled = _at_rest(metrics)
    expect(end).to_be_in_viewport()
    found = {
        "cpu_ms": (settled - before) * 1e3,
        "wall_ms": (time.perf_counter() - began - REST_SECONDS) * 1e3,
        "longest_task_ms": page.evaluate("window.__longest"),
        "viewers": page.evaluate("document.querySelectorAll('diffs-container').length"),
        "elements": _elements(page),
    }
    context.close()
    return found


def longest_task(browser: Browser, house: House, session: str) -> float:
    """Milliseconds of CPU of the longest task while the page opens, traced: on a busy machine a task also waits."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(house.server.address)
    page.goto("about:blank")
    browser.start_tracing(page=page, categories=["toplevel"])
    page.goto(f"{house.server.origin}/#/s/{session}")
    page.locator("[data-drawn=true]").first.wait_for()
    page.wait_for_timeout(REST_SECONDS * 1000)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    context.close()
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    tasks = [
        one["tdur"] for one in events if "tdur" in one and threads.get((one["pid"], one["tid"])) == "CrRendererMain"
    ]
    return max(tasks) / 1e3


def used(browser: Browser, house: House, seconds: int) -> dict[str, float]:
    """Type while an agent's updates come in. The server's agent is one that floods."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(house.server.address)
    page.add_init_script(WATCH)
    asked = {"folder": str(house.workspace()), "prompt": "Go."}
    origin = {"Origin": house.server.origin}
    session = context.request.post(f"{house.server.origin}/api/sessions", data=asked, headers=origin).json()["session"]
    page.goto(f"{house.server.origin}/#/s/{session}")
    page.reload()  # for what watches
    page.locator("[data-part=tool-title]").first.wait_for()
    metrics = _metrics_of(page)
    page.locator("[data-part=prompt]").click()
    began, busy, shown = time.perf_counter(), _task_seconds(metrics), _updates(page)
    early: tuple[float, float] | None = None
    while (passed := time.perf_counter() - began) < seconds:
        page.keyboard.press("x")
        if early is None and passed > seconds / 3:
            early = _memory(metrics)
        time.sleep(max(0.0, 1 / KEYS_A_SECOND - 0.002))
    late = _memory(metrics)
    delays = sorted(page.evaluate("window.__delays"))
    assert early is not None
    found = {
        "keys": len(delays),
        "delay_p50_ms": statistics.median(delays),
        "delay_p95_ms": delays[int(len(delays) * 0.95)],
        "delay_max_ms": delays[-1],
        "longest_task_ms": page.evaluate("window.__longest"),
        "cpu_share": (_task_seconds(metrics) - busy) / (time.perf_counter() - began),
        "updates_a_second": (_updates(page) - shown) / (time.perf_counter() - began),
        "heap_early_mib": early[0],
        "heap_late_mib": late[0],
        "nodes_early": early[1],
        "nodes_late": late[1],
    }
    context.close()
    return found


def from_elsewhere(browser: Browser, house: House) -> float:
    """Milliseconds from the commit of an event by another process to its row on the page, median."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(house.server.address)
    took = []
    with house.elsewhere([step("Nothing.")]) as live:
        live.append("turn/started", turn=1, source="terminal", rule="")
        page.goto(f"{house.server.origin}/#/s/{live.session}")
        page.locator("[data-part=prompt][disabled]").wait_for()
        for number in range(20):
            began = time.perf_counter()
            live.append("assistant/message", turn=1, message=f"m{number}", text=f"Number {number}.")
            page.get_by_text(f"Number {number}.").wait_for()
            took.append((time.perf_counter() - began) * 1e3)
    context.close()
    return statistics.median(took)


def flood(seconds: int, rate: int) -> list[dict[str, Any]]:
    """Steps of a puppet: bursts of ten updates, nine pieces of text and one state of a call, at the rate in all."""
    piece = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word {n} of the *reply* "}}
    steps: list[dict[str, Any]] = []
    for burst in range(seconds * rate // 10):
        call = f"c{burst // 20}"
        state = {"sessionUpdate": "tool_call_update", "toolCallId": call, "title": f"Step {burst}"}
        if burst % 20 == 0:
            state = {"sessionUpdate": "tool_call", "toolCallId": call, "title": f"Step {burst}", "kind": "read"}
        elif burst % 20 == 19:
            state["status"] = "completed"
        steps += [{"flood": 9, "update": piece}, {"send": state}, {"sleep": 10 / rate}]
    return steps


def _updates(page: Page) -> int:
    """How many the page shows: the number of the last burst is in the title of the last call."""
    return 10 * int(page.locator("[data-part=tool-title]").last.inner_text().removeprefix("Step "))


def _metrics_of(page: Page) -> CDPSession:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _task_seconds(session: CDPSession) -> float:
    """CPU seconds of all tasks of the page's main thread."""
    return next(
        one["value"] for one in session.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration"
    )


def _at_rest(session: CDPSession) -> float:
    """Waits until nearly nothing ran for a while; the CPU seconds by then."""
    until = time.perf_counter() + LONGEST_WAIT
    last = _task_seconds(session)
    while time.perf_counter() < until:
        time.sleep(REST_SECONDS)
        now = _task_seconds(session)
        if now - last < REST_SECONDS * IDLE_SHARE:
            return now
        last = now
    raise TimeoutError(f"the page did not come to rest within {LONGEST_WAIT} s")


def _memory(session: CDPSession) -> tuple[float, float]:
    """MiB of the page's heap and its number of nodes, after a collection."""
    session.send("HeapProfiler.collectGarbage")
    values = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return values["JSHeapUsedSize"] / 2**20, values["Nodes"]


def _elements(page: Page) -> int:
    """Those in shadow trees as well."""
    count: int = page.evaluate(
        """() => {
          const count = (root) => [...root.querySelectorAll("*")].reduce(
            (sum, one) => sum + 1 + (one.shadowRoot ? count(one.shadowRoot) : 0), 0);
          return count(document);
        }"""
    )
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--cards", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=500, help="updates a second")
    asked = parser.parse_args()
    executable = chromium.find() or sys.exit(chromium.REMEDY)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = Path(folder) / "flood.json"
        script.write_text(json.dumps({"prompts": [flood(asked.seconds + 20, asked.rate)]}))
        (Path(folder) / "data").mkdir()
        agent = ("--agent-command", f"{sys.executable} {PUPPET} {script}")
        house = House(Path(folder), Server(Path(folder) / "data", *agent))
        workspace = house.workspace()
        session = house.written(long_story(workspace, asked.messages, asked.cards).events, workspace)
        house.server.start()
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.FLAGS)
        try:
            lazy, everything = [], []
            for _ in range(asked.rounds):
                lazy.append(opened(browser, house, session, asked.cards, everything=False))
                everything.append(opened(browser, house, session, asked.cards, everything=True))
            longest = statistics.median(longest_task(browser, house, session) for _ in range(asked.rounds))
            elsewhere = from_elsewhere(browser, house)
            using = used(browser, house, asked.seconds)
        finally:
            browser.close()
            house.close()
    opening = {"lazy": _medians(lazy), "everything": _medians(everything)}
    ratio = opening["lazy"]["cpu_ms"] / opening["everything"]["cpu_ms"]
    if asked.json:
        print(
            json.dumps(
                {
                    "opening": opening,
                    "cpu_ratio": ratio,
                    "longest_task_cpu_ms": longest,
                    "elsewhere_ms": elsewhere,
                    "using": using,
                }
            )
        )
        return
    print(f"{'opening, median of ' + str(asked.rounds):<34}{'page':>12}{'all mounted':>14}")
    for name in lazy[0]:
        print(f"{name.replace('_', ' '):<34}{opening['lazy'][name]:>12,.0f}{opening['everything'][name]:>14,.0f}")
    print(f"{'longest task, its own CPU, ms':<34}{longest:>12,.0f}")
    print(f"{'cpu ratio':<34}{ratio:>12.3f}\n")
    print(f"{'a row of another process, ms':<34}{elsewhere:>12,.0f}\n")
    print(f"{asked.rate} updates a second for {asked.seconds} s")
    for name, value in using.items():
        print(f"{name.replace('_', ' '):<34}{value:>12,.2f}")


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


if __name__ == "__main__":
    main()
