"""How soon each view of the console shows its first rows, where much is stored, and how it scrolls.

    make bench-console                                   100,000 messages and 10,000 memories
    MESSAGES=10000 MEMORIES=1000 make bench-console      a quick run

It writes its table into docs/console.md. A view's own time is the time to its first rows less the time of the requests
that it made meanwhile.
"""

import gzip
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Request, sync_playwright

from _page import machine
from _service import Served, served
from keepword.postgres import migrate
from search import Writer

MESSAGES = int(os.environ.get("MESSAGES", "100000"))
MEMORIES = int(os.environ.get("MEMORIES", "10000"))
TALKS = 100
BATCH = 500
THREADS = 2
ROUNDS = 3
AIM_MS = 1000
SCROLLED_ROWS = 1000
HANG_SECONDS = 60
PAGE = Path(__file__).parents[1] / "docs" / "console.md"
_COPY = """
INSERT INTO memories
SELECT (jsonb_populate_record(m, jsonb_build_object(
    'id', gen_random_uuid(), 'content', m.content || ' ' || n, 'digest', sha256((m.content || n)::bytea),
    'valid_from', m.valid_from - n * interval '1 minute'))).*
FROM memories m CROSS JOIN generate_series(1, %(copies)s) AS n
"""
BEGIN, END = "<!-- sizes -->", "<!-- /sizes -->"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
]
# what a view shows of what is stored, and where its rows are
VIEWS = {
    "What the agent saw": ("turns?conversation=talk-0", ".detail article"),
    "Memories": ("memories", "td.main a"),
    "Search bench": ("search?q=what did we say about boats", ".hits > li"),
    "Who may see what": ("access?user=ann&agent=helper&conversation=talk-0", "main table tbody tr, main .lines > li"),
    "Transcript": ("transcript?conversation=talk-0", "li.said"),
    "Summaries": ("summaries?conversation=talk-0", ".tree > li, .empty"),
    "People and agents": ("people?user=ann", ".detail .lines > li"),
    "Try extraction": ("try", "textarea"),
    "Work": ("work", "section[aria-label=Queues] td"),
    "Imports": ("imports", ".empty"),
    "Keys and audit": ("audit", "main table tbody tr, .empty"),
    "Health": ("health", "section[aria-label=Findings] li"),
}
# rows that go on for thousands, and the query of their view
SCROLLED = {"Memories": "td.main a", "Transcript": "li.said"}


def fill(service: Served) -> float:
    """Store talks, each with its share of messages and memories; return how long that took."""
    began = time.perf_counter()
    connection = service.connect()
    connection.json("PUT", "/v1/users/ann", {"name": "Ann"})
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda number: _talk(service, number), range(TALKS)))
    _copy_memories(service)
    for turn in range(20):
        body = {"conversation": "talk-0", "message": f"What did we say about boats, for the {turn}th time?"}
        connection.json("POST", "/v1/compose", body)
    return time.perf_counter() - began


def _talk(service: Served, number: int) -> None:
    connection, writer = service.connect(), Writer(number)
    path = f"/v1/conversations/talk-{number}"
    connection.json("PUT", path, {"user": "ann", "agent": "helper", "title": f"Talk {number}"})
    at = datetime.now(UTC) - timedelta(days=number + 1)
    share = MESSAGES // TALKS
    for start in range(0, share, BATCH):
        batch = [
            {
                "role": ("user", "assistant")[one % 2], "content": writer.text(),
                "created_at": (at + timedelta(seconds=one)).isoformat(),
            }
            for one in range(start, min(start + BATCH, share))
        ]  # fmt: skip
        connection.json("POST", f"{path}/messages", batch)
    body = {"conversation": f"talk-{number}", "content": f"Box {number} holds {writer.text()[:60]}"}
    connection.json("POST", "/v1/semantic", body)


def _copy_memories(service: Served) -> None:
    """Copy each talk's memory, with a number of its own: adding each over the API takes a quarter of an hour.

    The copies are listed and read as any other, and are not in the index of searches.
    """
    with migrate.owner(service.conninfo) as conn:
        conn.execute(_COPY, {"copies": MEMORIES // TALKS - 1})


class Tab:
    """A page, and the requests to the API that it made since the last look."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self._url = page, url
        self._spans: list[tuple[float, float]] = []
        self._begun: dict[Request, float] = {}
        page.on("request", self._begin)
        page.on("requestfinished", self._end)

    def _begin(self, request: Request) -> None:
        if request.resource_type in {"fetch", "xhr"}:
            self._begun[request] = time.perf_counter()

    def _end(self, request: Request) -> None:
        if (began := self._begun.pop(request, None)) is not None:
            self._spans.append((began, time.perf_counter()))

    def first_rows(self, view: str, rows: str) -> tuple[float, float]:
        """Open a view anew; return the milliseconds to its first rows, and those of them that the API took."""
        self.page.goto("about:blank")
        self._spans.clear()
        began = time.perf_counter()
        self.page.goto(f"{self._url}/console#/{view}", wait_until="commit")
        self.page.locator(rows).first.wait_for()
        ended = time.perf_counter()
        return (ended - began) * 1000, _covered([(a, min(b, ended)) for a, b in self._spans if a < ended]) * 1000

    def scroll(self, rows: str) -> tuple[int, float]:
        """Scroll to the end again and again; return how many rows are there then, and the longest wait for more."""
        longest, count = 0.0, self.page.locator(rows).count()
        while count < SCROLLED_ROWS and self.page.locator(".more button").count():
            began = time.perf_counter()
            self.page.locator(".more").last.scroll_into_view_if_needed()
            while (now := self.page.locator(rows).count()) <= count:
                if time.perf_counter() - began > HANG_SECONDS:
                    raise TimeoutError(f"no more rows than {count}")
                self.page.wait_for_timeout(5)
            longest, count = max(longest, time.perf_counter() - began), now
        return count, longest * 1000


def _covered(spans: list[tuple[float, float]]) -> float:
    """Return how long any of the requests was under way."""
    total, until = 0.0, 0.0
    for began, ended in sorted(spans):
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


@contextmanager
def _tab(url: str) -> Iterator[Tab]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=FLAGS
        )
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.set_default_timeout(HANG_SECONDS * 1000)
        yield Tab(page, url)
        browser.close()


def _weight() -> int:
    built = Path(__file__).parents[1] / "src" / "keepword" / "http" / "console"
    return sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in built.iterdir() if file.is_file())


def measure(service: Served) -> list[list[Any]]:
    table = []
    with _tab(service.url) as tab:
        for name, (view, rows) in VIEWS.items():
            whole, api = min(tab.first_rows(view, rows) for _ in range(ROUNDS))
            own = whole - api
            table.append([name, f"{whole:.0f}", f"{api:.0f}", f"{own:.0f}"])
            print(f"  {name:20} first rows {whole:6.0f} ms, of which the API {api:6.0f} ms, the page {own:6.0f} ms")
            if name in SCROLLED:
                count, longest = tab.scroll(SCROLLED[name])
                table[-1].append(f"{count:,} rows, at most {longest:.0f} ms for more")
                print(f"  {'':20} {count} rows by cursor, at most {longest:.0f} ms for more")
            else:
                table[-1].append("")
            if own > AIM_MS:
                print(f"  {'':20} MISSED: over {AIM_MS} ms beside the API")
    return table


def main() -> None:
    # filling a busy machine takes longer than a request may
    patience = {"request_timeout_seconds": "600", "statement_timeout_seconds": "300", "requests_wait_seconds": "600"}
    with served(worker="false", embedding="none", processes="1", **patience) as service:
        filled = fill(service)
        print(f"{MESSAGES:,} messages and {MEMORIES:,} memories stored in {filled:.0f} s")
        table = measure(service)
    head = ["view", "first rows, ms", "of which the API", "the page itself", "scrolled by cursor"]
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *table)]
    text = (
        f"`make bench-console` measured this on {datetime.now(UTC):%Y-%m-%d} ({machine()}): {MESSAGES:,} messages and "
        f"{MEMORIES:,} memories in {TALKS} conversations, the best of {ROUNDS} first loads, in Chromium. "
        f"The first load is {_weight() / 1000:.1f} kB compressed.\n\n" + "\n".join(lines)
    )
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
