-- What was taken back. A retracted message stays in the transcript for the tenant's owner, and is read by nobody else.

-- `erased_at`: its content was overwritten, which can't be undone; then there is no reason any more.
CREATE TABLE retractions (
    tenant_id uuid NOT NULL,
    message_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    seq bigint NOT NULL,
    run_id text NOT NULL,
    visibility text NOT NULL,
    private_to text,
    retracted_by text,
    reason text,
    retracted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    erased_at timestamptz,
    PRIMARY KEY (tenant_id, message_id),
    UNIQUE (tenant_id, conversation_id, seq),
    CHECK ((visibility = 'private') = (private_to IS NOT NULL)),
    CHECK (erased_at IS NULL OR reason IS NULL),
    FOREIGN KEY (tenant_id, conversation_id, seq) REFERENCES messages (tenant_id, conversation_id, seq) ON DELETE CASCADE
);
CREATE INDEX retractions_in_scope ON retractions (tenant_id, run_id);
ALTER TABLE retractions ENABLE ROW LEVEL SECURITY;
-- policies of other tables ask which messages are retracted; by whom and why is told by a function, to the owner alone
GRANT SELECT (tenant_id, message_id, conversation_id, seq, run_id, visibility, private_to) ON retractions TO keepword_app;

-- The entries of retracted messages and of their landmarks, out of the index, until it is undone.
CREATE TABLE retracted_entries (LIKE entries);
ALTER TABLE retracted_entries ADD PRIMARY KEY (tenant_id, id);
CREATE INDEX retracted_entries_in_talk ON retracted_entries (tenant_id, conversation_id, seq);
ALTER TABLE retracted_entries ENABLE ROW LEVEL SECURITY;

-- A summary of messages of which one was taken back has lost its words: `redo` until a worker has made it again, `empty`
-- if nothing is left to summarise.
ALTER TABLE summaries ADD COLUMN hidden text CHECK (hidden IN ('redo', 'empty'));
CREATE INDEX summaries_to_redo ON summaries (tenant_id, conversation_id) WHERE hidden = 'redo';

CREATE INDEX facts_by_source ON facts (tenant_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX fact_versions_by_source ON fact_versions (tenant_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX memories_by_successor ON memories (tenant_id, superseded_by) WHERE superseded_by IS NOT NULL;
