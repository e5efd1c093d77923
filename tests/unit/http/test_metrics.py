"""Metrics of several processes are added up, sample by sample."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from keepword.http.metrics import merge


def one_process(refused: int, waiting: int, seconds: float) -> bytes:
    registry = CollectorRegistry()
    Counter("keepword_refused", "Refused", ["why"], registry=registry).labels("busy").inc(refused)
    Gauge("keepword_backlog_entries", "Waiting", registry=registry).set(waiting)
    Histogram("keepword_seconds", "Time", buckets=(1, 2), registry=registry).observe(seconds)
    return generate_latest(registry)


def values(text: bytes) -> dict[str, float]:
    return {
        sample.name + "".join(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_counts_are_added_and_what_all_read_in_the_database_is_not():
    merged = values(merge([one_process(2, 7, 0.5), one_process(3, 7, 1.5)]))
    assert merged["keepword_refused_totalbusy"] == 5
    assert merged["keepword_backlog_entries"] == 7
    assert merged["keepword_seconds_bucket1.0"] == 1
    assert merged["keepword_seconds_bucket+Inf"] == merged["keepword_seconds_count"] == 2
    assert merged["keepword_seconds_sum"] == 2


def test_what_only_one_process_has_stays():
    alone = CollectorRegistry()
    Counter("keepword_jobs", "Jobs", registry=alone).inc(4)
    assert values(merge([one_process(1, 1, 1), generate_latest(alone)]))["keepword_jobs_total"] == 4
