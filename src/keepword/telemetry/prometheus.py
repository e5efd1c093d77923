"""The metrics that /metrics shows, as OTLP tells them."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.core import Metric as Family
from prometheus_client.core import Sample

_STARTED_NS = time.time_ns()
_TOTAL = AggregationTemporality.CUMULATIVE


def to_otlp(families: Iterable[Family], resource: Resource) -> MetricsData:
    now = time.time_ns()
    metrics = [metric for family in families for metric in _metrics(family, now)]
    scope = ScopeMetrics(InstrumentationScope("keepword"), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metrics(family: Family, now: int) -> Iterator[Metric]:
    data: Any
    if family.type == "histogram":
        data = Histogram(list(_histograms(family, now)), _TOTAL)
    elif family.type == "counter":
        data = Sum(_numbers(family, now, f"{family.name}_total"), _TOTAL, is_monotonic=True)
    elif family.type == "gauge":
        data = Gauge(_numbers(family, now, family.name))
    else:
        return
    if data.data_points:
        yield Metric(family.name, family.documentation, family.unit or "", data)


def _numbers(family: Family, now: int, name: str) -> list[NumberDataPoint]:
    return [
        NumberDataPoint(sample.labels, _STARTED_NS, now, sample.value)
        for sample in family.samples
        if sample.name == name
    ]


def _histograms(family: Family, now: int) -> Iterator[HistogramDataPoint]:
    groups: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        groups.setdefault(labels, []).append(sample)
    for labels, samples in groups.items():
        buckets = sorted(
            (float(sample.labels["le"]), int(sample.value)) for sample in samples if sample.name.endswith("_bucket")
        )
        counts = [count for _, count in buckets]
        # Prometheus counts all that are no greater; OTLP those of one bucket
        own = [count - before for count, before in zip(counts, [0, *counts], strict=False)]
        total = next(sample.value for sample in samples if sample.name.endswith("_sum"))
        bounds = [bound for bound, _ in buckets[:-1]]
        yield HistogramDataPoint(
            dict(labels), _STARTED_NS, now, counts[-1], total, own, bounds, float("nan"), float("nan")
        )
