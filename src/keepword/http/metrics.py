"""The metrics of all processes of a service, whichever of them is asked."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

_ANSWER_SECONDS = 1
# gauges that each process reads from the database, or sets about itself: the largest value counts
_NOT_SUMMED = (
    "keepword_backlog_", "keepword_replica_lag_", "keepword_replica_ready", "keepword_server_backlog_",
    "keepword_server_up", "python_info", "process_start_time_", "process_max_fds",
)  # fmt: skip


class ProcessMetrics:
    """One process' metrics: shown to its siblings on a socket in the folder that they share, added to theirs."""

    def __init__(self, folder: Path | None = None, number: int = 0) -> None:
        self._folder = folder
        self._own = folder / f"{number}.metrics" if folder else None

    @asynccontextmanager
    async def published(self) -> AsyncIterator[None]:
        if self._own is None:
            yield
            return
        self._own.unlink(missing_ok=True)
        async with await asyncio.start_unix_server(_answer, self._own):
            yield
        self._own.unlink(missing_ok=True)

    async def collect(self) -> bytes:
        """Return the metrics of this process and of all siblings that answer."""
        own = generate_latest()
        siblings = [path for path in self._folder.glob("*.metrics") if path != self._own] if self._folder else []
        if not siblings:
            return own
        answers = await asyncio.gather(*map(_ask, siblings))
        return merge([own, *filter(None, answers)])


async def _answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(generate_latest())
        await writer.drain()
    writer.close()


async def _ask(socket: Path) -> bytes:
    """Return a sibling's metrics; nothing where it is gone or busy, such as one that is just restarted."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                return await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return b""


def merge(texts: Iterable[bytes]) -> bytes:
    """Add up the counts of several processes, sample by sample."""
    families: dict[str, Metric] = {}
    for text in texts:
        for family in text_string_to_metric_families(text.decode()):
            total = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            _add(total, family)
    return generate_latest(_Totals(families.values()))


def _add(total: Metric, family: Metric) -> None:
    places = {(sample.name, *sorted(sample.labels.items())): at for at, sample in enumerate(total.samples)}
    for sample in family.samples:
        at = places.get((sample.name, *sorted(sample.labels.items())))
        if at is None:
            total.samples.append(sample)
            continue
        before = total.samples[at]
        is_shared = sample.name.startswith(_NOT_SUMMED) or sample.name.endswith("_created")
        value = max(before.value, sample.value) if is_shared else before.value + sample.value
        total.samples[at] = before._replace(value=value)


class _Totals(CollectorRegistry):
    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families
