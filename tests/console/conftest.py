"""The console in a real browser. `make test-console` fetches what these tests need and sets CONSOLE=1."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from keepword import story
from keepword.cli import play
from keepword.client import Client
from patience import HANG_SECONDS

collect_ignore_glob = [] if os.environ.get("CONSOLE") else ["test_*.py"]

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
PAGE_SECONDS = 60
AXE = Path(__file__).parents[2] / "console" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - fetched for these tests alone

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def told(make_migrated_home, service_type) -> Iterator:
    """A service on loopback, without keys, in which the demo's story was told and its questions were asked."""
    started = service_type(make_migrated_home(), worker="true").start()
    with Client.sync(started.url, timeout_seconds=HANG_SECONDS) as kw:
        play.set_up(kw)
        today = datetime.now(UTC)
        for day in (1, 2, 3):
            list(play.tell(kw, day, today))
        kw.memories.add("counter-talk", "Tom's favourite bread is rye.", user="tom")
        kw.memories.add("counter-talk", "The counter is painted blue.", user="mira")
        kw.facts.set("user", "tom", "shoe_size", 44)
        kw.agents.put_file("aide", "SOUL.md", "You are kind.")
        asked = [play.ask(kw, spot, "mira") for spot in (story.OVENS, story.TAX)]
        asked += [play.ask(kw, story.ROOM, "tom"), play.ask(kw, story.ROOM, "tom")]
        play.keep_questions(kw, asked[:3])
        kw.summaries.tree("counter-talk")
    yield started
    started.stop()


def until(page, holds: Callable[[], bool]) -> None:
    """Wait in the page's own time: its policy lets nobody evaluate a text inside of it."""
    deadline = time.monotonic() + PAGE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


class Tab:
    """A page of the console, which notes what goes wrong in it and what it asks of others."""

    def __init__(self, page, url: str) -> None:
        self.page = page
        self.url = url
        self.wrong: list[str] = []
        self.elsewhere: list[str] = []
        page.set_default_timeout(PAGE_SECONDS * 1000)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", self._listen)
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}") or dialog.dismiss())
        page.on("request", self._watch)

    def _listen(self, message) -> None:
        # a refused request is the API's word, and shown; what a policy refuses must never have been tried
        if message.type == "error" and "the server responded with a status" not in message.text:
            self.wrong.append(message.text)

    def _watch(self, request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.url).netloc and not request.url.startswith("data:"):
            self.elsewhere.append(request.url)

    def go(self, view: str):
        self.page.goto(f"{self.url}/console#/{view}")
        self.page.locator("main h1").wait_for()
        return self.page

    def go_signed_in(self, view: str, key: str) -> None:
        """Open a view with another key than before."""
        self.page.goto(f"{self.url}/console/icon.svg")
        self.page.evaluate("key => sessionStorage.setItem('keepword-key', key)", key)
        self.go(view)

    def settle(self) -> None:
        """Wait until nothing is being loaded."""
        until(self.page, lambda: self.page.locator(".busy").count() == 0)

    def sign_in(self, key: str) -> None:
        self.page.get_by_label("Key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()


@pytest.fixture
def open_tab(browser) -> Iterator[Callable[..., Tab]]:
    contexts, tabs = [], []

    def open_(url: str, scheme: str = "light", width: int = 1280) -> Tab:
        contexts.append(browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}))
        tabs.append(Tab(contexts[-1].new_page(), url))
        return tabs[-1]

    yield open_
    for tab in tabs:
        assert tab.wrong == []
        assert tab.elsewhere == []
    for context in contexts:
        context.close()


@pytest.fixture
def tab(open_tab, told) -> Tab:
    return open_tab(told.url)
