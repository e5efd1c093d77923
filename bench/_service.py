"""A real service for the benchmarks, a lean HTTP connection to it, and ratios out of one run."""

import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keepword.postgres.embedded import Cluster

KEEPWORD = str(Path(sys.executable).parent / "keepword")
IDLE_SECONDS = 2


class Served:
    def __init__(self, home: Path, process: subprocess.Popen[str], url: str) -> None:
        self.home = home
        self.process = process
        self.url = url
        self.conninfo = Cluster(home).conninfo

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def connect(self) -> "Connection":
        host, port = self.url.removeprefix("http://").split(":")
        return Connection(host, int(port))


@contextmanager
def served(keep: Path | None = None, **settings: str) -> Iterator[Served]:
    """Start `keepword serve` on a data folder of its own, and remove both afterwards; one that is named is kept."""
    root = keep or Path(tempfile.mkdtemp(prefix="kw-bench-"))
    root.mkdir(exist_ok=True)
    root.chmod(0o711)
    home = root / "home"
    env = {name: value for name, value in os.environ.items() if not name.startswith("KEEPWORD_")}
    env |= {"KEEPWORD_HOME": str(home), "KEEPWORD_PORT": "0"}
    env |= {f"KEEPWORD_{name.upper()}": value for name, value in settings.items()}
    log = (root / "log").open("w")
    process = subprocess.Popen([KEEPWORD, "serve"], env=env, cwd="/", stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        # a first start says before that it makes a database
        url = next(line.split()[-1] for line in process.stdout if "listens on" in line)
        yield Served(home, process, url)
    finally:
        process.terminate()
        process.wait(30)
        Cluster(home).stop()
        if keep is None:
            shutil.rmtree(root, ignore_errors=True)


class Connection:
    """One kept-alive connection that costs microseconds: what is measured is the service, not the client."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._host = f"{host}:{port}"
        self.key = ""
        self._open()

    def _open(self) -> None:
        self._socket = socket.create_connection(self._address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._used_at = time.monotonic()

    def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if time.monotonic() - self._used_at > IDLE_SECONDS:
            # the service closes what nobody used for a while
            self._socket.close()
            self._open()
        answer = self._exchange(method, path, body)
        self._used_at = time.monotonic()
        return answer

    def _exchange(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {self.key}\r\n" if self.key else ""
        self._socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more()
        headers, _, rest = received.partition(b"\r\n\r\n")
        told = re.search(rb"(?i)content-length: (\d+)", headers)
        length = int(told[1]) if told else 0
        while len(rest) < length:
            rest += self._more()
        return int(headers[9:12]), rest

    def json(self, method: str, path: str, body: Any = None) -> Any:
        status, raw = self.request(method, path, json.dumps(body).encode() if body is not None else b"")
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {raw.decode()}")
        return json.loads(raw) if raw else None

    def _more(self) -> bytes:
        found = self._socket.recv(1 << 20)
        if not found:
            raise ConnectionError("the service closed the connection")
        return found


def milliseconds(samples: list[float]) -> str:
    ordered = sorted(samples)
    p95 = ordered[int(len(ordered) * 0.95)]
    return f"median {statistics.median(ordered) * 1000:8.3f} ms   p95 {p95 * 1000:8.3f} ms"


def timed(action: Any, *args: Any) -> float:
    started = time.perf_counter()
    action(*args)
    return time.perf_counter() - started


def verdict(name: str, ratio: float, aim: float, *, at_least: bool = False) -> None:
    met = ratio >= aim if at_least else ratio <= aim
    sign = "≥" if at_least else "≤"
    print(f"  {name}: {ratio:.2f}   aim {sign} {aim:g}   {'met' if met else 'MISSED'}")
