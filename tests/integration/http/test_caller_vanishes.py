"""A caller that goes away in the middle of a request is no fault of Keepword's."""

import socket
import time
from urllib.parse import urlsplit

from patience import HANG_SECONDS


def test_it_is_noted_as_gone_and_not_as_a_failure(make_service):
    service = make_service().start()
    address = urlsplit(service.url)
    head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += "Content-Length: 100\r\n\r\n"
    for sent in ("", '{"query": '):
        with socket.create_connection((address.hostname, address.port), 10) as conn:
            conn.sendall((head + sent).encode())
            time.sleep(0.1)  # so that the service is waiting for the rest
    deadline = time.monotonic() + HANG_SECONDS
    while service.log().count('"status":499') < 2:
        assert time.monotonic() < deadline, service.log()
        time.sleep(0.02)
    assert "Traceback" not in service.log()
    assert '"status":500' not in service.log()
    with service.client() as client:
        assert "keepword_requests_in_flight 0.0" in client.get("/metrics").text.splitlines()
