"""Traces and metrics reach a collector that speaks OTLP, by the standard variables, and hold no text."""

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from keepword.telemetry import is_wanted
from patience import HANG_SECONDS

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.bodies.append((self.path, body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def requests(self, path: str, type_: type) -> list:
        return [type_.FromString(body) for at, body in list(self.bodies) if at == path]

    def spans(self) -> list:
        sent = self.requests("/v1/traces", ExportTraceServiceRequest)
        return [span for each in sent for of in each.resource_spans for scope in of.scope_spans for span in scope.spans]

    def metrics(self) -> dict:
        sent = self.requests("/v1/metrics", ExportMetricsServiceRequest)
        return {
            metric.name: metric
            for each in sent for of in each.resource_metrics for scope in of.scope_metrics for metric in scope.metrics
        }  # fmt: skip


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def observed(make_service, collector):
    service = make_service()
    service.variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_METRIC_EXPORT_INTERVAL": "200",
        "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_SERVICE_NAME": "memory",
    }  # fmt: skip
    return service.start()


def wait_for(question) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not question():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def values(attributes) -> dict:
    return {one.key: one.value.string_value or one.value.int_value for one in attributes}


def test_a_request_continues_its_callers_trace_and_tells_no_text(observed, collector):
    secret = f"harbour{uuid4().hex}"
    with observed.client() as client:
        client.put(f"/v1/conversations/{secret}", json={}).raise_for_status()
        client.post(f"/v1/conversations/{secret}/messages", json={"role": "user", "content": secret})
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        body = {"query": secret, "conversation": secret, "recipe": "fast"}
        client.post("/v1/search", json=body, headers=headers).raise_for_status()
        assert client.get(f"/v1/conversations/{uuid4().hex}").status_code == 404

    def of_search() -> list:
        return [span for span in collector.spans() if span.trace_id.hex() == TRACE]

    wait_for(lambda: any(span.name == "POST /v1/search" for span in of_search()))
    (request,) = [span for span in of_search() if span.name == "POST /v1/search"]
    assert request.parent_span_id.hex() == PARENT
    assert values(request.attributes) == {
        "http.request.method": "POST", "http.route": "/v1/search", "http.response.status_code": 200
    }  # fmt: skip
    inner = [span for span in of_search() if span is not request and span.name == "postgresql primary"]
    assert len(inner) >= 2
    assert {span.parent_span_id for span in inner} == {request.span_id}
    assert all(request.start_time_unix_nano <= span.start_time_unix_nano for span in inner)
    assert not any(secret.encode() in body for _, body in collector.bodies)


def test_the_metrics_are_those_of_the_metrics_page(observed, collector):
    with observed.client() as client:
        client.put("/v1/conversations/demo", json={}).raise_for_status()
    wait_for(lambda: "keepword_requests" in collector.metrics() and "keepword_request_seconds" in collector.metrics())
    wait_for(lambda: any(
        values(point.attributes).get("route") == "/v1/conversations/{external_id}"
        for point in collector.metrics()["keepword_requests"].sum.data_points
    ))  # fmt: skip
    sent = collector.metrics()
    assert sent["keepword_requests"].sum.is_monotonic
    assert sent["keepword_pool_connections"].gauge.data_points
    for point in sent["keepword_request_seconds"].histogram.data_points:
        assert sum(point.bucket_counts) == point.count
        assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    (of,) = {
        str(values(of.resource.attributes)["service.name"])
        for each in collector.requests("/v1/metrics", ExportMetricsServiceRequest) for of in each.resource_metrics
    }  # fmt: skip
    assert of == "memory"


def test_what_is_left_is_sent_at_the_end(make_service, collector):
    service = make_service()
    service.variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url
    }  # by default every five seconds, and every minute
    service.start()
    with service.client() as client:
        client.put("/v1/conversations/last", json={}).raise_for_status()
    assert service.stop() == 0
    assert "PUT /v1/conversations/{external_id}" in {span.name for span in collector.spans()}
    assert "keepword_requests" in collector.metrics()


def test_a_collector_that_is_away_does_not_keep_the_service_from_ending(make_service, find_port):
    service = make_service()
    service.variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{find_port()}"}
    service.start()
    with service.client() as client:
        client.put("/v1/conversations/last", json={}).raise_for_status()
    assert service.stop() == 0


@pytest.mark.parametrize(
    ("env", "traces", "metrics"),
    [
        ({}, False, False),
        ({"OTEL_SERVICE_NAME": "x"}, False, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, True, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, True, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_METRICS_EXPORTER": "none"}, True, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True, False),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, False, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, False, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False, False),
    ],
)
def test_the_standard_variables_say_what_goes_out(env, traces, metrics):
    assert is_wanted(env, "TRACES") is traces
    assert is_wanted(env, "METRICS") is metrics
