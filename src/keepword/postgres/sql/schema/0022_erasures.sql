-- Erasures: what is being erased is invisible from the first transaction on, and a worker goes on until nothing is there.

-- Ids and numbers, never a word. `conversation_ids` are erased as a whole; in `spoken_in` what the user said there, one
-- conversation after the other, up to `after_seq` of the first. `erased`: no row has the words any more, and the files
-- of the database are to be rewritten. With `done` the ids go, too.
CREATE TABLE erasures (
    tenant_id uuid NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    kind text NOT NULL CHECK (kind IN ('message', 'conversation', 'user', 'tenant')),
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'erased', 'done')),
    conversation_ids uuid[] NOT NULL DEFAULT '{}',
    spoken_in uuid[] NOT NULL DEFAULT '{}',
    after_seq bigint NOT NULL DEFAULT 0,
    -- the places and the names of both: what is kept of them outside of the database is cleared by these
    run_ids text[] NOT NULL DEFAULT '{}',
    names text[] NOT NULL DEFAULT '{}',
    user_id text,
    key_id text,
    counts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(counts) = 'object'),
    erased_messages bigint NOT NULL DEFAULT 0,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    erased_at timestamptz,
    done_at timestamptz,
    PRIMARY KEY (tenant_id, id),
    CHECK ((state = 'running') = (erased_at IS NULL) AND (state = 'done') = (done_at IS NOT NULL)),
    CHECK (state <> 'done' OR (user_id IS NULL AND conversation_ids = '{}' AND spoken_in = '{}' AND run_ids = '{}' AND names = '{}'))
);
CREATE INDEX erasures_running ON erasures (tenant_id) WHERE state = 'running';
CREATE INDEX erasures_unfinished ON erasures (requested_at) WHERE state <> 'done';
CREATE INDEX erasures_by_time ON erasures (erased_at) WHERE erased_at IS NOT NULL;
ALTER TABLE erasures ENABLE ROW LEVEL SECURITY;
-- policies of other tables ask what is being erased; all else is told by functions
GRANT SELECT (tenant_id, state, conversation_ids, user_id) ON erasures TO keepword_app;

-- The planner's statistics would keep samples of what was said.
ALTER TABLE messages ALTER content SET STATISTICS 0, ALTER tool_args SET STATISTICS 0, ALTER tool_result SET STATISTICS 0,
    ALTER attachments SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER event_id SET STATISTICS 0,
    ALTER tool_name SET STATISTICS 0;
ALTER TABLE entries ALTER text SET STATISTICS 0, ALTER words SET STATISTICS 0, ALTER pieces SET STATISTICS 0;
ALTER TABLE retracted_entries ALTER text SET STATISTICS 0, ALTER words SET STATISTICS 0, ALTER pieces SET STATISTICS 0;
ALTER TABLE retractions ALTER reason SET STATISTICS 0;
ALTER TABLE conversations ALTER title SET STATISTICS 0, ALTER settings SET STATISTICS 0;
ALTER TABLE users ALTER name SET STATISTICS 0;
ALTER TABLE working_memories ALTER fields SET STATISTICS 0;
ALTER TABLE ledger_marks ALTER value SET STATISTICS 0, ALTER item_key SET STATISTICS 0;
ALTER TABLE facts ALTER value SET STATISTICS 0, ALTER key SET STATISTICS 0;
ALTER TABLE fact_versions ALTER value SET STATISTICS 0, ALTER key SET STATISTICS 0;
ALTER TABLE profile_texts ALTER content SET STATISTICS 0;
ALTER TABLE profile_versions ALTER memory SET STATISTICS 0;
ALTER TABLE summaries ALTER content SET STATISTICS 0, ALTER reason SET STATISTICS 0, ALTER key_decisions SET STATISTICS 0,
    ALTER entities_mentioned SET STATISTICS 0, ALTER tools_called SET STATISTICS 0;
ALTER TABLE landmarks ALTER content SET STATISTICS 0;
ALTER TABLE tool_sentences ALTER content SET STATISTICS 0, ALTER reason SET STATISTICS 0;
ALTER TABLE memories ALTER content SET STATISTICS 0, ALTER metadata SET STATISTICS 0, ALTER categories SET STATISTICS 0,
    ALTER feedback_reason SET STATISTICS 0;
ALTER TABLE memory_versions ALTER content SET STATISTICS 0, ALTER metadata SET STATISTICS 0,
    ALTER categories SET STATISTICS 0, ALTER feedback_reason SET STATISTICS 0;
ALTER TABLE job_errors ALTER error SET STATISTICS 0;
