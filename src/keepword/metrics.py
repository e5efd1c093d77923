"""What /metrics shows: counts of this process' work, of all tenants together."""

from prometheus_client import Counter, Gauge, Histogram

REQUESTS = Counter("keepword_requests", "Requests answered", ["method", "route", "status"])
REQUEST_SECONDS = Histogram(
    "keepword_request_seconds", "Time to answer a request", ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)  # fmt: skip
REQUESTS_IN_FLIGHT = Gauge("keepword_requests_in_flight", "Requests being worked on")
REQUESTS_WAITING = Gauge("keepword_requests_waiting", "Requests waiting for their turn")
REQUESTS_SHED = Counter("keepword_requests_shed", "Requests refused because too many were there", ["reason"])
OVER_QUOTA = Counter("keepword_over_quota", "Requests and jobs refused because a tenant was over a quota", ["quota"])
BODY_BYTES = Gauge("keepword_request_body_bytes", "Bytes of request bodies held in memory")
CONNECTIONS = Gauge("keepword_connections", "Open connections", ["state"])
POOL_CONNECTIONS = Gauge("keepword_pool_connections", "Database connections", ["state"])
REPLICA_READS = Counter(
    "keepword_replica_reads",
    "Reads that replicas may answer: answered, behind or failed by one, or left_out where none could be asked",
    ["replica", "outcome"],
)
REPLICA_LAG = Gauge(
    "keepword_replica_lag_bytes", "Bytes of the primary's log that a replica has not replayed", ["replica"]
)
REPLICA_READY = Gauge("keepword_replica_ready", "1 while a replica keeps up and is asked", ["replica"])
SERVER_UP = Gauge("keepword_server_up", "1 while a database server answers", ["server"])
SERVER_POOL_CONNECTIONS = Gauge(
    "keepword_server_pool_connections", "Database connections to a server", ["server", "state"]
)
SERVER_BACKLOG_ENTRIES = Gauge(
    "keepword_server_backlog_entries", "Entries of a server without their vectors", ["server", "space", "state"]
)
TEXTS_EMBEDDED = Counter("keepword_texts_embedded", "Texts embedded by this process", ["space"])
EMBEDDING_FAILURES = Counter("keepword_embedding_failures", "Entries that this process could not embed", ["space"])
BACKLOG_ENTRIES = Gauge("keepword_backlog_entries", "Entries without their vectors, in all tenants", ["space", "state"])
LLM_TOKENS = Counter("keepword_llm_tokens", "Tokens that language models read and wrote", ["model", "kind"])
LLM_CALLS = Counter("keepword_llm_calls", "Calls of language models", ["model", "outcome"])
