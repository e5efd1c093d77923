"""Whatever goes wrong under JSON:API's path is said in its own words, elsewhere as a problem."""

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.errors import Unavailable
from keepword.http.app import create_app
from keepword.http.jsonapi import is_spoken_at, pointer

pytestmark = pytest.mark.anyio

KEY = {"Authorization": "Bearer kw_0123456789abcdef_" + "A" * 43}


class Keys:
    def __init__(self, fault):
        self.fault = fault

    async def find(self, *_):
        if isinstance(self.fault, Exception):
            raise self.fault
        await asyncio.sleep(self.fault)


@pytest.mark.parametrize(
    ("fault", "status"), [(Unavailable("away", 7), 503), (RuntimeError("unforeseen"), 500), (30, 503)]
)
@pytest.mark.parametrize(
    ("path", "media"), [("/v1/memories", "application/vnd.api+json"), ("/v1/facts", "application/problem+json")]
)
async def test_a_fault_is_told_in_the_routes_own_words(fault, status, path, media):
    app = create_app(SimpleNamespace(keys=Keys(fault), request_timeout_seconds=0.2, keyless=False, servers=None))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://keepword.test") as client:
        answer = await client.get(path, headers=KEY)
    assert (answer.status_code, answer.headers["content-type"]) == (status, media)
    assert ("retry-after" in answer.headers) == (status == 503)
    said = answer.json()["errors"][0] if media.endswith("api+json") else answer.json()
    assert int(said["status"]) == status
    assert "unforeseen" not in answer.text


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/", "/v1/memories/a", "/v1/memories/a/b"])
def test_it_is_spoken_under_its_path(path):
    assert is_spoken_at(path)


@pytest.mark.parametrize("path", ["/", "/v1/memoriesx", "/v1/memory", "/v1", "/x/v1/memories"])
def test_it_is_spoken_nowhere_else(path):
    assert not is_spoken_at(path)


@given(st.lists(st.text(max_size=5), max_size=4))
def test_pointers_lead_back_to_their_parts(parts):
    found = [part.replace("~1", "/").replace("~0", "~") for part in pointer(*parts).split("/")]
    assert found == ["", *parts]
