"""After an erasure no process holds the words: each finishes its requests and begins anew, and nobody is refused."""

import re
import signal
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import httpx
import psutil
import pytest

from keepword.postgres.embedded import Cluster
from patience import HANG_SECONDS, stretched

STOP_SECONDS = 5
BEGINS_ANEW = "something was erased, beginning anew"
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)")
_CHUNK_BYTES = 8 << 20


def wait_for(condition):
    deadline = time.monotonic() + HANG_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
    return found


def processes_of(service):
    """Return the processes of the service and of its database."""
    roots = [psutil.Process(service.process.pid), psutil.Process(Cluster(service.home).postmaster_pid())]
    return {one.pid for root in roots for one in (root, *root.children(recursive=True))}


def places_of(word, pids):
    """Return in which parts of the memory of processes a word stands, and how often."""
    found, shared = {}, set()
    for pid in sorted(pids):
        with suppress(FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):  # it ended meanwhile
            name = psutil.Process(pid).cmdline()
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:  # noqa: PTH123 - unbuffered
                for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                    start, end, rights, inode, path = _MAPPING.match(line).groups()
                    # a file that nobody may write has no word; what many share is read once
                    if "r" not in rights or path.startswith("[v") or (inode != "0" and "w" not in rights):
                        continue
                    if "s" not in rights or (inode, path) not in shared:
                        shared.add((inode, path))
                        count = _count(memory, int(start, 16), int(end, 16), word.encode())
                        if count:
                            found[pid, " ".join(name), path] = count
    return found


def _count(memory, start, end, word):
    count, rest = 0, b""
    with suppress(OSError, ValueError):  # what no process may read
        memory.seek(start)
        while start < end and (chunk := memory.read(min(end - start, _CHUNK_BYTES))):
            count += (rest + chunk).count(word)
            start, rest = start + len(chunk), chunk[1 - len(word) :]
    return count


@contextmanager
def asking(service):
    """Ask all the time, on new connections and on one that stays; the list gets what went wrong."""
    over, wrong, answers = threading.Event(), [], []

    def ask(client):
        while not over.is_set():
            try:
                answer = client.post("/v1/search", json={"query": "pump of the hall", "conversation": "stays"})
                answers.append(answer.status_code)
                if answer.status_code != 200:
                    wrong.append(answer.text)
            except httpx.HTTPError as exc:
                wrong.append(repr(exc))
            time.sleep(0.1)

    def ask_anew():
        with httpx.Client(base_url=service.url, timeout=HANG_SECONDS, headers={"Connection": "close"}) as client:
            ask(client)

    def ask_on():
        with httpx.Client(base_url=service.url, timeout=HANG_SECONDS) as client:
            ask(client)

    threads = [threading.Thread(target=one) for one in (ask_anew, ask_on)]
    for thread in threads:
        thread.start()
    try:
        yield wrong, answers
    finally:
        over.set()
        for thread in threads:
            thread.join()


def talk(client, name, word):
    client.put(f"/v1/conversations/{name}", json={"user": "ann"}).raise_for_status()
    for number in range(20):
        said = {"role": "user", "content": f"My favourite street is {word} number {number}; I live there."}
        client.post(f"/v1/conversations/{name}/messages", json=said).raise_for_status()
    for query in (word, "favourite street"):
        client.post("/v1/search", json={"query": query, "conversation": name}).raise_for_status()
        client.post("/v1/compose", json={"message": query, "conversation": name}).raise_for_status()
    client.get(f"/v1/conversations/{name}/messages").raise_for_status()


def erase(client, name):
    answer = client.delete(f"/v1/conversations/{name}")
    answer.raise_for_status()
    return answer.json()["id"]


def wait_until_forgotten(service, erasure):
    def forgotten_at():
        answer = httpx.get(f"{service.url}/v1/erasures/{erasure}", timeout=HANG_SECONDS)
        return answer.json()["forgotten_at"]

    return wait_for(forgotten_at)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_no_process_holds_a_word_that_was_erased_and_no_request_is_refused_meanwhile(make_service, processes, show):
    service = make_service(processes=processes, worker="true").start()
    word = f"Zq{uuid4().hex[:10]}"
    with service.client() as client:
        client.put("/v1/users/ann", json={}).raise_for_status()
        client.put("/v1/conversations/stays", json={}).raise_for_status()
        client.post("/v1/conversations/stays/messages", json={"role": "user", "content": "The pump of the hall runs."})
        talk(client, "goes", word)
    try:
        before = places_of(word, processes_of(service))
    except PermissionError:
        pytest.skip("this account may not read the memory of the service's processes")
    assert sum(before.values()) > 20
    with asking(service) as (wrong, answers):
        with service.client() as client:
            erasure = erase(client, "goes")
        wait_until_forgotten(service, erasure)
        asked = len(answers)
        wait_for(lambda: len(answers) > asked + 10)
    assert wrong == []
    assert places_of(word, processes_of(service)) == {}
    show(f"{processes} processes: {sum(before.values())} places before, 0 after, {len(answers)} requests meanwhile")


def test_erasures_in_a_row_let_the_service_begin_anew_once(make_service):
    service = make_service(processes="2", worker="true").start()
    with service.client() as client:
        for number in range(5):
            client.put(f"/v1/conversations/goes-{number}", json={}).raise_for_status()
        erasures = [erase(client, f"goes-{number}") for number in range(5)]
    for erasure in erasures:
        wait_until_forgotten(service, erasure)
    assert service.log().count(BEGINS_ANEW) == 1


@pytest.mark.parametrize("seconds", [0, 3])
def test_a_signal_that_comes_meanwhile_ends_the_service_in_order(make_service, seconds):
    service = make_service(processes="2", worker="true").start()
    with service.client() as client:
        client.put("/v1/conversations/goes", json={}).raise_for_status()
        erase(client, "goes")
    wait_for(lambda: BEGINS_ANEW in service.log())
    time.sleep(seconds)
    pids = processes_of(service)
    began = time.monotonic()
    assert service.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < stretched(STOP_SECONDS + 3)
    wait_for(lambda: not [pid for pid in pids if psutil.pid_exists(pid)])


def test_a_service_that_began_anew_keeps_its_number_its_folder_and_its_siblings(make_service, cli):
    service = make_service(processes="2", worker="true").start()
    with service.client() as client:
        client.put("/v1/conversations/goes", json={}).raise_for_status()
        erasure = erase(client, "goes")
    wait_until_forgotten(service, erasure)
    (sibling,) = wait_for(lambda: siblings(service))
    second = cli(service.home, "serve", port="0")
    assert second.returncode != 0
    assert "already running" in second.stderr
    # one that was taken over is watched as the others are
    sibling.kill()
    (fresh,) = wait_for(lambda: [one for one in siblings(service) if one.pid != sibling.pid])
    assert "a process of the service died" in service.log()
    service.process.kill()
    service.process.wait()
    wait_for(lambda: not fresh.is_running())


def siblings(service):
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(service.process.pid).children()
        return [one for one in children if "keepword.sibling" in one.cmdline()]
    return []


def test_a_worker_alone_begins_anew_as_well(make_service, make_worker):
    service = make_service(processes="1", worker="false").start()
    worker = make_worker(service.home)
    word = f"Zq{uuid4().hex[:10]}"
    with service.client() as client:
        client.put("/v1/users/ann", json={}).raise_for_status()
        talk(client, "goes", word)
        wait_for(lambda: word in client.get("/v1/semantic?conversation=goes").text)
        erasure = erase(client, "goes")
    wait_until_forgotten(service, erasure)
    pids = {worker.pid, *(one.pid for one in psutil.Process(worker.pid).children(recursive=True))}
    try:
        assert places_of(word, pids | processes_of(service)) == {}
    except PermissionError:
        pytest.skip("this account may not read the memory of the service's processes")
