"""The ports that the routes call; main puts them together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from keepword.access import Grant, Place, TenantSettings
from keepword.access.audit import AuditLog
from keepword.access.keys import StoredKey
from keepword.access.managed_keys import ManagedKeys
from keepword.answers import HistoryImport, ServiceReport
from keepword.compaction.ports import Landmarks, Summaries
from keepword.compose import Composer
from keepword.compose.files import Files
from keepword.compose.kept_turns import TurnLog, TurnStore
from keepword.compose.shown_turn import TurnReader
from keepword.embedding.ports import BacklogDepth
from keepword.erasure.ports import ErasureQueue, Erasures, PersonalData, Retractions
from keepword.facts import Facts
from keepword.files import FileTrees
from keepword.http.concurrency import ConcurrencyLimiter
from keepword.http.metrics import ProcessMetrics
from keepword.http.protected_resource import ResourceSettings
from keepword.http.slots import large_gate, pattern_gate, report_gate, trial_gate
from keepword.items import Items
from keepword.memories.ports import Memories
from keepword.memories.trial import ExtractionTrials
from keepword.model import Key
from keepword.period import Calendar
from keepword.profiles import Profiles
from keepword.recall import Recall, Uses
from keepword.recall.ports import SourceReader
from keepword.recall.synthesize import Synthesizer
from keepword.renewal import Register
from keepword.slices import Runner, in_thread
from keepword.stats import StatsReader
from keepword.stats.ports import FailedWork
from keepword.transcript.ports import Conversations, PlaceLookup, TextIndexer, Transcript
from keepword.transcript.registry import Registry
from keepword.webhooks.ports import Webhooks
from keepword.working import WorkingStores


class Keys(Protocol):
    """Both also tell the place of the conversation that the request names, to save a round trip."""

    async def find(self, key_id: str, external_id: str | None) -> tuple[StoredKey, Place | None] | None: ...

    async def keyless(self, external_id: str | None) -> tuple[Key, Place | None] | None:
        """Return the admin of the default tenant, as long as no key was ever made."""
        ...


class Health(Protocol):
    """Whether a server answers. `lost` is done as soon as it does not."""

    @property
    def is_up(self) -> bool: ...

    @property
    def lost(self) -> "asyncio.Future[None]": ...


@dataclass(frozen=True, slots=True)
class Server:
    """One of several database servers, and what answers for the tenants that live there."""

    name: str
    services: "Services"
    health: Health


FoundKey = tuple[StoredKey, Place | None]


class Servers(Protocol):
    """Several database servers that share the tenants."""

    @property
    def servers(self) -> Mapping[str, Server]: ...

    async def find(self, key_id: str, external_id: str | None) -> tuple[Server, FoundKey] | None:
        """Return the server of the key's tenant, with what it has of the key and the place."""
        ...


class MessageQuotas(Protocol):
    async def take(self, tenant_id: UUID, own: TenantSettings, messages: int, size: int) -> None:
        """Count messages and their bytes before they are stored; raises OverQuota."""
        ...

    async def give_back(self, tenant_id: UUID, own: TenantSettings, messages: int, size: int) -> None: ...


class Imports(Protocol):
    """Imports of histories, for the tenant's owner. Raises NotFound, and Conflict where its state does not allow it."""

    async def make(self, grant: Grant, kind: str, file: str, options: dict[str, Any]) -> UUID: ...

    async def put_part(self, grant: Grant, id_: UUID, number: int, content: bytes, most_bytes: int) -> None: ...

    async def start(self, grant: Grant, id_: UUID, key_id: str, *, dry_run: bool) -> None: ...

    async def cancel(self, grant: Grant, id_: UUID) -> None: ...

    async def delete(self, grant: Grant, id_: UUID) -> None: ...

    async def list(self, grant: Grant, before: tuple[datetime, UUID] | None, limit: int) -> Sequence[HistoryImport]: ...

    async def get(self, grant: Grant, id_: UUID) -> HistoryImport: ...


@dataclass(frozen=True, slots=True)
class Services:
    """`keyless` allows callers without a key, as long as none was made: on loopback only.

    `is_ready` asks the database; `loaded` is set once a first turn finds everything loaded. `default_quotas` are those
    of tenants that have none of their own; `metrics_for_anyone` answers /metrics to other machines, too, with what
    `metrics` returns. `run` reads long texts. What is read inside `replica_reads` may come from a replica.
    Where `servers` share the tenants, these are the services of the process, and those of a caller are the server's.
    """

    keys: Keys
    managed_keys: ManagedKeys
    lookup: PlaceLookup
    transcript: Transcript
    reader: TextIndexer
    conversations: Conversations
    registry: Registry
    audit: AuditLog
    webhooks: Webhooks
    working: WorkingStores
    recall: Recall
    stats: StatsReader
    failed_work: FailedWork
    uses: Uses
    sources: SourceReader
    facts: Facts
    profiles: Profiles
    summaries: Summaries
    landmarks: Landmarks
    memories: Memories
    retractions: Retractions
    erasures: Erasures
    erasure_queue: ErasureQueue
    processes: Register
    personal: PersonalData
    composer: Composer
    turns: TurnStore
    turn_log: TurnLog
    turn_reader: TurnReader
    files: Files
    trees: FileTrees
    imports: Imports
    items: Items
    clock: Callable[[], datetime]
    calendar: Calendar
    is_ready: Callable[[], Awaitable[bool]]
    pool_stats: Callable[[], dict[str, int]]
    depths: Callable[[], Awaitable[list[BacklogDepth]]]
    keyless: bool
    request_timeout_seconds: float
    imports_bytes: int = 2**31
    metrics_for_anyone: bool = False
    resource: ResourceSettings = field(default_factory=ResourceSettings)
    metrics: Callable[[], Awaitable[bytes]] = ProcessMetrics().collect
    synthesizer: Synthesizer | None = None
    trials: ExtractionTrials = field(default_factory=ExtractionTrials)
    quotas: MessageQuotas | None = None
    default_quotas: Mapping[str, float | None] = field(default_factory=dict)
    report: Callable[[], Awaitable[ServiceReport]] | None = None
    loaded: asyncio.Event | None = None
    pattern_gate: ConcurrencyLimiter = field(default_factory=pattern_gate)
    large_gate: ConcurrencyLimiter = field(default_factory=large_gate)
    report_gate: ConcurrencyLimiter = field(default_factory=report_gate)
    trial_gate: ConcurrencyLimiter = field(default_factory=trial_gate)
    run: Runner = in_thread
    replica_reads: Callable[[], AbstractContextManager[None]] = nullcontext
    servers: Servers | None = None
