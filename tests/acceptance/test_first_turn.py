"""Whoever is told that Keepword is ready does not wait for tables to be loaded."""

import asyncio
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from keepword.http.app import create_app

# the tables of the tokenizer, the largest thing that a first turn needs
TABLES = "bpe_openai/_bindings"
OPENED = """
import asyncio, sys
from keepword import Keepword

async def main():
    async with Keepword.open(data=sys.argv[1], worker=False):
        print("loaded" if "bpe_openai._bindings" in sys.modules else "not loaded")

asyncio.run(main())
"""


def test_a_service_that_says_ready_has_loaded_what_a_first_turn_needs(make_service):
    service = make_service().start()
    maps = Path(f"/proc/{service.process.pid}/maps").read_text(encoding="utf-8")
    assert TABLES in maps


def test_an_open_keepword_has_loaded_what_a_first_turn_needs(make_migrated_home):
    command = [sys.executable, "-c", OPENED, str(make_migrated_home())]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.stdout == "loaded\n", ran.stderr


@pytest.mark.anyio
async def test_a_service_is_not_ready_while_it_loads():
    async def is_ready():
        return True

    loaded = asyncio.Event()
    services = SimpleNamespace(loaded=loaded, is_ready=is_ready, request_timeout_seconds=30, servers=None)
    transport = httpx.ASGITransport(create_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        before = await client.get("/readyz")
        loaded.set()
        after = await client.get("/readyz")
    assert (before.status_code, before.headers["Retry-After"], after.status_code) == (503, "1", 200)
    assert "still being loaded" in before.json()["detail"]
