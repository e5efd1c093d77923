"""Which modules of src/keepword one append and one search go through, in the order in which they are entered.

The application runs in this process, without a server, on a database of its own. A profiler notes each function of
Keepword that is entered on behalf of the request, in its tasks and threads. An append is counted to its commit; what
follows is the buffer and the answer. Both calls are made a few times before, so that all that they load once is
loaded. An arrow marks the modules that call another one; the others are leaves.
"""

import asyncio
import contextlib
import logging
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import httpx
import structlog

import keepword
from keepword.config import read_settings
from keepword.http.app import build_routes, create_app
from keepword.postgres import migrate
from keepword.postgres.embedded import running
from keepword.postgres.keys import NewKey, make_key
from keepword.postgres.transcript import PostgresTranscript
from keepword.wiring import services

PACKAGE = str(Path(keepword.__file__).parent) + "/"
MODEL_THREAD = "embed"
WARM = 5
TALK = (
    "The bakery opens on 12 June.", "Mira will bring the walnut bread.", "The oven costs 8,400 euros.",
    "Tom is allergic to walnuts.", "We meet on Friday at the market.", "The tax office wrote again about the oven.",
)  # fmt: skip
AIMS = {"append": 20, "search": 24}


@dataclass(slots=True)
class Walk:
    """The functions of each module that were entered, modules in the order of their first one.

    `leading` are the modules from which another one was entered; the others are leaves, such as a hash or an id.
    """

    modules: dict[str, set[str]] = field(default_factory=dict)
    leading: set[str] = field(default_factory=set)
    committed: list[str] | None = None


_walk: ContextVar[Walk | None] = ContextVar("walk", default=None)
# the model's thread is not told for whom it works: while a call is counted, it works for that one
_counted: list[Walk] = []


def _note(frame: FrameType, event: str, _: object) -> None:
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(PACKAGE) or code.co_name == "<module>":
        return
    walk = _walk.get()
    if walk is None and _counted and threading.current_thread().name.startswith(MODEL_THREAD):
        walk = _counted[0]
    if walk is not None:
        module = code.co_filename.removeprefix(PACKAGE)
        walk.modules.setdefault(module, set()).add(code.co_name)
        # a generator's frame is called by whoever consumes it
        caller = _module_of_caller(frame) if code.co_name != "<genexpr>" else None
        if caller is not None and caller != module:
            walk.leading.add(caller)


def _module_of_caller(frame: FrameType) -> str | None:
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
        caller = caller.f_back
    return caller.f_code.co_filename.removeprefix(PACKAGE) if caller else None


@contextlib.contextmanager
def counting() -> Iterator[Walk]:
    walk = Walk()
    token = _walk.set(walk)
    _counted.append(walk)
    sys.setprofile(_note)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        _counted.clear()
        _walk.reset(token)


@contextlib.contextmanager
def noting_the_commit() -> Iterator[None]:
    """Remember which modules were entered when the messages are on disk."""
    append = PostgresTranscript.append

    async def noted(*args: object, **kwargs: object) -> object:
        stored = await append(*args, **kwargs)
        if (walk := _walk.get()) is not None:
            walk.committed = list(walk.modules)
        return stored

    PostgresTranscript.append = noted
    try:
        yield
    finally:
        PostgresTranscript.append = append


@asynccontextmanager
async def client(home: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = read_settings({}, Path("/dev/null"), {"home": home, "log_level": "error"}).settings
    with running(home) as cluster:
        migrate.migrate(cluster.conninfo)
        with migrate.owner(cluster.conninfo) as owner:
            secret = make_key(owner, NewKey("hops", "admin"))
        async with services(settings, cluster.conninfo) as parts:
            app = create_app(parts)
            await asyncio.wrap_future(build_routes(app))
            headers = {"Authorization": f"Bearer {secret.text}"}
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost", headers=headers, timeout=120
            ) as http:
                yield http


async def call(http: httpx.AsyncClient, path: str, body: dict[str, object]) -> Walk:
    with counting() as walk:
        answer = await http.post(path, json=body)
    answer.raise_for_status()
    return walk


async def fill(http: httpx.AsyncClient) -> None:
    (await http.put("/v1/conversations/hops", json={})).raise_for_status()
    for text in TALK:
        await append(http, text)
    while any(space["share"] < 1 for space in (await http.get("/v1/stats")).json()["coverage"].values()):  # noqa: ASYNC110
        await asyncio.sleep(0.1)


async def append(http: httpx.AsyncClient, text: str) -> Walk:
    return await call(http, "/v1/conversations/hops/messages", {"role": "user", "content": text})


async def search(http: httpx.AsyncClient) -> Walk:
    return await call(http, "/v1/search", {"query": "What does the oven cost?", "conversation": "hops"})


def report(name: str, walk: Walk) -> None:
    counted = walk.committed or list(walk.modules)
    aim = AIMS[name]
    leading = sum(module in walk.leading for module in counted)
    print(f"{name}: {len(counted)} modules, {leading} of them lead on to others (aim: at most {aim})")
    for number, module in enumerate(walk.modules, 1):
        leads = "->" if module in walk.leading else "  "
        mark = "" if number <= len(counted) else " (after the commit)"
        print(f"  {number:2} {leads} {module:34} {' '.join(sorted(walk.modules[module]))}{mark}")


async def walk_both(home: Path) -> None:
    async with client(home) as http:
        await fill(http)
        for _ in range(WARM):
            await search(http)
        report("append", await append(http, "The market is closed on Monday."))
        for _ in range(WARM):
            await search(http)
        report("search", await search(http))


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    threading.setprofile(_note)
    with tempfile.TemporaryDirectory(prefix="kw-hops-") as folder, noting_the_commit():
        Path(folder).chmod(0o711)
        asyncio.run(walk_both(Path(folder) / "home"))


if __name__ == "__main__":
    main()
