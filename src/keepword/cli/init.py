"""keepword init: from nothing to a memory that knows what was said before."""

import shlex
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from keepword import patterns
from keepword.cli import login_service
from keepword.cli.found_histories import import_found
from keepword.cli.history_import import default_user
from keepword.cli.hooks import program
from keepword.cli.service import address, plain, service
from keepword.config import read_settings
from keepword.errors import InvalidInput, KeepwordError, StartError, Unavailable
from keepword.hooks import install as installing
from keepword.hooks.configuration import state_folder
from keepword.hooks.hosts import HOSTS
from keepword.hooks.service import Service

# a host is used here if it has a folder of its own
_HOST_FOLDERS = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini", "cursor": ".cursor"}
_START_SECONDS = 180
# a sentence that asks, as short as a command may be
_READ_CHARS = 4000
_QUESTION = patterns.in_short(r"[^.!?\n]{8,120}\?", _READ_CHARS)
_WORDS = 8
# questions that are asked before one is shown
_TRIED = 10


def init(
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: import, and install hooks.")] = False,
    user: Annotated[str | None, typer.Option(help="Who you are here; default: who is logged in.")] = None,
) -> None:
    """Start the service, import the histories of this machine, and give its coding agents memory: three questions."""
    chosen = default_user(user)
    _start(is_sure=yes)
    imported = import_found(chosen, is_sure=yes)
    hosts = [name for name, folder in _HOST_FOLDERS.items() if (Path.home() / folder).is_dir()]
    titles = ", ".join(HOSTS[name].title for name in hosts)
    if hosts and (yes or typer.confirm(f"Give {titles} memory, and keep their sessions?", default=True)):
        for host in hosts:
            _install(host, chosen)
    _end(is_filled=imported > 0)


def _start(*, is_sure: bool) -> None:
    settings = read_settings().settings
    url = address(settings)
    if _answers(url):
        print(f"Keepword answers at {url}.")
        return
    if settings.url:
        raise Unavailable(f"no service answers at {url} (KEEPWORD_URL); start it there, or unset the variable")
    manager = login_service.find_manager()
    is_unit = not is_sure and manager is not None and typer.confirm(
        f"Start Keepword whenever you log in (a {manager} unit of yours)?", default=False
    )  # fmt: skip
    if not is_unit or manager is None or not login_service.start(manager, program(), _log()):
        _start_process()
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(url):
        if time.monotonic() > deadline:
            raise StartError(f"Keepword did not start within {_START_SECONDS} s; `keepword serve` shows why")
        time.sleep(0.2)
    print(f"Keepword started: {url}")


def _answers(url: str) -> bool:
    try:
        Service(url, None, 5).call("GET", "/readyz")
    except (KeepwordError, OSError):
        return False
    return True


def _start_process() -> None:
    with _log().open("ab") as log:
        subprocess.Popen(  # noqa: S603 - our own command
            [program(), "serve"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    print(f"It runs until this machine stops; its log is {_log()}.")


def _log() -> Path:
    folder = state_folder().parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "serve.log"


def _install(host: str, user: str) -> None:
    try:
        needed = installing.changes(installing.installation(host, Path.home()), installing.command_of(program()))
    except InvalidInput as exc:
        print(f"{HOSTS[host].title}: {exc}")
        return
    own = installing.hook_settings(address(read_settings().settings), user, None)
    for change in [*needed, *([own] if own else [])]:
        change.write()
        print(f"wrote {change.file}")


def _end(*, is_filled: bool) -> None:
    """End with something that can be asked at once."""
    with service() as kw:
        exchanges = _exchanges(plain(kw.browse(limit=100, order="desc"))["messages"]) if is_filled else []
        asked = next((question for question, answer in exchanges[:_TRIED] if _is_found(kw, question, answer)), None)
    if asked is None:
        print('Keep something: keepword append notes "We fly on Friday."')
        print('Ask it: keepword search "when is the flight?"')
        return
    # a question that was asked in the same words stands above its answer: the turn after it shows both
    print(f"Ask it: keepword search {shlex.quote(asked)} --context 1")


def _exchanges(newest: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return questions with the ids of their answers, the newest first; what is answered and no question, last."""
    exchanges = []
    for after, before in pairwise(newest):
        is_answer = after["role"] == "assistant" and after["conversation"] == before["conversation"]
        if is_answer and after["content"] and before["role"] == "user" and before["content"]:
            exchanges.append((before["content"], after["id"]))
    questions = [
        (found[-1].strip(), id_) for said, id_ in exchanges if (found := _QUESTION.findall(said[:_READ_CHARS]))
    ]
    return questions + [
        (" ".join(said.split()[:_WORDS]), id_) for said, id_ in exchanges if not _QUESTION.search(said[:_READ_CHARS])
    ]


def _is_found(kw: Any, question: str, answer: str) -> bool:
    """Tell whether the answer is the first that a search shows, or stands beside it."""
    hits = plain(kw.search(question, limit=1, context=1))["results"]
    return any(answer in {hit["id"], *(one["source_id"] for one in hit["context"])} for hit in hits)
