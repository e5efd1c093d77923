"""What goes wrong in real life. Each fault returns the moment from which its house should serve again."""

import json
import signal
import socket
import struct
import time
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit
from uuid import uuid4

import httpx

from faults.house import House, wait_for
from keepword.postgres import migrate
from patience import HANG_SECONDS, stretched, until_served

DAY = 86_400
ANSWER_SECONDS = 10  # two of them for the model
_SILENCE = "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'"

Fault = Callable[[House, float], float]


def service_killed(house: House, _: float) -> float:
    began = time.monotonic()
    house.service.process.kill()
    house.service.process.wait()
    house.service.start()
    return began


def service_stopped(house: House, seconds: float) -> float:
    with house.stopped([house.service.process.pid]):
        time.sleep(seconds)
    return time.monotonic()


def worker_killed(house: House, _: float) -> float:
    began = time.monotonic()
    house.worker.kill()
    house.worker.wait()
    _silence(house)
    house.start_worker()
    return began


def worker_stopped(house: House, seconds: float) -> float:
    """Another worker takes over; then the first one goes on as if nothing had been."""
    first = house.worker
    with house.stopped([first.pid]):
        _silence(house)
        house.start_worker()
        time.sleep(max(seconds, 3))
    healed = time.monotonic()
    time.sleep(1)
    first.terminate()
    first.wait(HANG_SECONDS)
    return healed


def _silence(house: House) -> None:
    """Nobody waits 20 seconds for a dead worker's heartbeat in a test."""
    with migrate.owner(house.service.conninfo) as conn:
        conn.execute(_SILENCE)


def postgres_killed(house: House, _: float) -> float:
    began = time.monotonic()
    house.signal(signal.SIGKILL, house.postgres)
    return began


def postgres_stopped(house: House, seconds: float) -> float:
    with house.stopped(house.postgres):
        time.sleep(seconds)
    return time.monotonic()


def redis_killed(house: House, seconds: float) -> float:
    house.redis.kill()
    time.sleep(seconds)
    healed = time.monotonic()
    house.redis.start()
    return healed


def redis_stopped(house: House, seconds: float) -> float:
    with house.stopped([house.redis.process.pid]):
        time.sleep(seconds)
    return time.monotonic()


def model_hangs(house: House, seconds: float) -> float:
    """Turns are composed all the while, each within its time."""
    name = uuid4().hex
    with house.service.client() as client, house.model.hanging():
        _make_conversation(client, name)
        said = [{"role": "user", "content": f"Pump {n} runs at {n} bar. " * 20, "event_id": str(n)} for n in range(100)]
        until_served(lambda: client.post(f"/v1/conversations/{name}/messages", json=said)).raise_for_status()
        # so small a window that the oldest messages have to give way at once, which asks the model
        turn = {"conversation": name, "message": "which pump?", "window_tokens": 4096}
        end = time.monotonic() + seconds
        while True:
            began = time.monotonic()
            answer = client.post("/v1/compose", json=turn)
            assert time.monotonic() - began < stretched(ANSWER_SECONDS)
            if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE and began < end + HANG_SECONDS:
                continue
            assert answer.status_code == 200, answer.text
            if time.monotonic() > end:
                break
        wait_for(house.model.model.hanging.is_set, "somebody asks the model")
    return time.monotonic()


def clock_jumps(house: House, seconds: float) -> float:
    """A day ahead, a day back, and right again: for service, worker and PostgreSQL alike."""
    try:
        for moved in (DAY, -DAY):
            house.clock.move(moved)
            time.sleep(max(seconds, 1))
            with migrate.owner(house.service.conninfo) as conn:
                (told,) = conn.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
            assert abs(float(told) - time.time() - moved) < 60
            assert abs(_time_of_an_append(house) - time.time() - moved) < 60
    finally:
        house.clock.move(0)
    return time.monotonic()


def _time_of_an_append(house: House) -> float:
    name = uuid4().hex
    message = {"role": "user", "content": "now"}
    with house.service.client() as client:
        _make_conversation(client, name)
        said = until_served(lambda: client.post(f"/v1/conversations/{name}/messages", json=message))
    return datetime.fromisoformat(said.raise_for_status().json()["messages"][0]["created_at"]).timestamp()


def _make_conversation(client: httpx.Client, name: str) -> None:
    until_served(lambda: client.put(f"/v1/conversations/{name}", json={})).raise_for_status()


def connections_cut(house: House, _: float) -> float:
    """Callers vanish at every point of an append; each then sends it again."""
    name = uuid4().hex
    with house.service.client() as client:
        _make_conversation(client, name)
        path = f"/v1/conversations/{name}/messages"
        events = [f"cut-{number}" for number in range(40)]
        for number, event in enumerate(events):
            raw = _raw(path, {"role": "user", "content": "cut", "event_id": event})
            # from before the first byte to after the last
            _send_and_vanish(house.service.url, raw[: len(raw) * number // (len(events) - 10)], number)
        for event in events:
            message = {"role": "user", "content": "cut", "event_id": event}
            again = until_served(lambda: client.post(path, json=message))  # noqa: B023
            assert again.status_code in {200, 201}, again.text
        stored = until_served(lambda: client.get(path, params={"limit": 200})).json()["messages"]
        assert sorted(message["event_id"] for message in stored) == sorted(events)
    return time.monotonic()


def _raw(path: str, body: dict[str, str]) -> bytes:
    sent = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(sent)}\r\n\r\n{sent}".encode()


def _send_and_vanish(url: str, raw: bytes, number: int) -> None:
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), HANG_SECONDS) as conn:
        conn.sendall(raw)
        if number % 2:  # without a goodbye: the other side gets a reset
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if number % 3 == 0:
            time.sleep(0.005)


FAULTS: dict[str, Fault] = {
    "service killed": service_killed,
    "service stopped": service_stopped,
    "worker killed": worker_killed,
    "worker stopped": worker_stopped,
    "PostgreSQL killed": postgres_killed,
    "PostgreSQL stopped": postgres_stopped,
    "Redis killed": redis_killed,
    "Redis stopped": redis_stopped,
    "connections cut": connections_cut,
    "model hangs": model_hangs,
    "clock jumps": clock_jumps,
}
