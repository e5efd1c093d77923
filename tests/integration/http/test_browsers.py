"""What a browser gets: pages from this origin alone, no frame, no script of others; and who passes without a key."""

import re

import pytest

from keepword.http.guards import ANYONE, GUARDS

OPEN = sorted(path for (method, path), roles in GUARDS.items() if roles == ANYONE and "{" not in path)


@pytest.fixture
def client(service):
    with service.client() as made:
        yield made


def test_the_api_s_page_loads_only_files_of_the_service_itself(client):
    page = client.get("/docs")
    assert page.status_code == 200
    loaded = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert len(loaded) >= 3
    for address in loaded:
        assert address == "data:," or (address.startswith("/") and not address.startswith("//")), address
        if address != "data:,":
            found = client.get(address)
            assert (found.status_code, len(found.content) > 100) == (200, True), address


def test_a_file_that_the_page_does_not_have_is_not_found(client):
    for name in ("redoc.standalone.js", "..%2fpages%2fdocs.html", "__init__.py"):
        assert client.get(f"/docs/{name}").status_code == 404


@pytest.mark.parametrize("path", [*OPEN, "/v1/conversations", "/v1/nothing", "/v1/memories"])
def test_every_answer_tells_browsers_to_run_nothing_of_others_and_to_show_it_in_no_frame(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "header",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"X-Forwarded-Host": "keepword.example"},
        {"X-Forwarded-Proto": "https"},
        {"Forwarded": "for=203.0.113.9"},
        {"Via": "1.1 proxy"},
        {"X-Real-IP": "203.0.113.9"},
    ],
    ids=lambda header: next(iter(header)),
)
def test_a_request_that_a_proxy_passes_on_needs_a_key(client, header):
    assert client.get("/v1/conversations").status_code == 200
    assert client.get("/v1/conversations", headers=header).status_code == 401
