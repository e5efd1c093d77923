-- Erasures: the words go for good. The first transaction hides everything, the next ones delete it a batch at a time, and
-- each leaves the database in order: whoever is killed in between is followed by a worker that goes on.
-- A new table that holds words joins `erase_rest_of_conversation`, `erase_rest_of_user` or `erase_rest_of_tenant`, and
-- `src/keepword/erasure/tables.py`, which says how each table is erased.

-- An event that was erased is still known by this, so that a retry does not bring it back.
CREATE OR REPLACE FUNCTION erased_event(conversation uuid, event text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'erased:' || encode(sha256(convert_to(conversation || chr(10) || event, 'UTF8')), 'hex')
$$;

-- Of each kind but messages of whole conversations no more are counted: a request waits for it.
CREATE OR REPLACE FUNCTION most_counted() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 100000 $$;

-- What would go, in numbers. The frames of messages are numbered without gaps, so that conversations know how many they are.
CREATE OR REPLACE FUNCTION count_erasure(tenant uuid, whole uuid[], person text) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'conversations', cardinality(whole),
        'messages', (SELECT COALESCE(sum(c.last_seq), 0)::bigint FROM conversations c
                     WHERE c.tenant_id = tenant AND c.id = ANY (whole))
            + (SELECT count(*) FROM (
                SELECT FROM messages m WHERE m.tenant_id = tenant AND m.user_id = person
                    AND NOT EXISTS (SELECT FROM unnest(whole) AS w (id) WHERE w.id = m.conversation_id)
                LIMIT most_counted()) AS n),
        'summaries', (SELECT count(*) FROM (
            SELECT FROM summaries s WHERE s.tenant_id = tenant AND s.conversation_id = ANY (whole)
            LIMIT most_counted()) AS n),
        'landmarks', (SELECT count(*) FROM (
            SELECT FROM landmarks l WHERE l.tenant_id = tenant AND l.conversation_id = ANY (whole)
            LIMIT most_counted()) AS n),
        'memories', (SELECT count(*) FROM (
            SELECT FROM memories m WHERE m.tenant_id = tenant AND (m.conversation_id = ANY (whole) OR m.user_id = person)
            LIMIT most_counted()) AS n),
        'facts', (SELECT count(*) FROM (
            SELECT FROM facts f WHERE f.tenant_id = tenant AND (f.user_id = person OR f.said_in && whole)
            LIMIT most_counted()) AS n),
        'profiles', (SELECT count(*) FROM profiles p WHERE p.tenant_id = tenant AND p.user_id = person),
        'keys', (SELECT count(*) FROM (
            SELECT FROM keys k WHERE k.tenant_id = tenant AND k.user_id = person AND k.revoked_at IS NULL
            LIMIT most_counted()) AS n))
$$;

-- What would go with a tenant.
CREATE OR REPLACE FUNCTION count_tenant_erasure(tenant uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'conversations', count(*), 'messages', COALESCE(sum(c.last_seq), 0)::bigint,
        'users', (SELECT count(*) FROM (SELECT FROM users WHERE tenant_id = tenant LIMIT most_counted()) AS n),
        'memories', (SELECT count(*) FROM (SELECT FROM memories WHERE tenant_id = tenant LIMIT most_counted()) AS n),
        'facts', (SELECT count(*) FROM (SELECT FROM facts WHERE tenant_id = tenant LIMIT most_counted()) AS n),
        'keys', (SELECT count(*) FROM (
            SELECT FROM keys WHERE tenant_id = tenant AND revoked_at IS NULL LIMIT most_counted()) AS n))
    FROM conversations c WHERE c.tenant_id = tenant
$$;

-- Raised where an import still brings what would be erased. None begins before this transaction has ended.
CREATE OR REPLACE FUNCTION refuse_erasing_import(tenant uuid, conversation text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_history_imports(tenant);
    IF EXISTS (SELECT FROM imports i WHERE i.tenant_id = tenant) OR is_being_imported(tenant, conversation) THEN
        RAISE EXCEPTION 'an import is running or uploaded, which may bring what is to be erased' USING ERRCODE = 'object_in_use';
    END IF;
END
$$;

-- Overwrites messages in place: their frames stay, so that numbers and times hold.
CREATE OR REPLACE FUNCTION blank_messages(tenant uuid, conversation uuid, seqs bigint[]) RETURNS bigint LANGUAGE sql AS $$
    WITH blanked AS (
        UPDATE messages m SET content = '', tool_name = NULL, tool_args = NULL, tool_result = NULL, attachments = '[]',
            metadata = '{}', user_id = NULL, event_id = erased_event(conversation, m.event_id),
            digest = CASE WHEN m.event_id IS NOT NULL THEN ''::bytea END
        WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.seq = ANY (seqs)
        RETURNING 1
    )
    SELECT count(*) FROM blanked
$$;

-- Takes what was derived from messages out of everything, and leaves nothing for an undo.
CREATE OR REPLACE FUNCTION erase_derived(tenant uuid, conversation uuid, seqs bigint[], message_ids uuid[]) RETURNS uuid[]
LANGUAGE plpgsql AS $$
DECLARE
    revived uuid[];
BEGIN
    PERFORM erase_facts_of(tenant, message_ids);
    revived := forget_derived(tenant, conversation, seqs, message_ids);
    DELETE FROM landmarks WHERE tenant_id = tenant AND conversation_id = conversation AND seq = ANY (seqs);
    DELETE FROM tool_sentences WHERE tenant_id = tenant AND conversation_id = conversation AND seq = ANY (seqs);
    DELETE FROM retracted_entries WHERE tenant_id = tenant AND conversation_id = conversation AND seq = ANY (seqs);
    DELETE FROM composed_turns WHERE tenant_id = tenant AND asked = ANY (message_ids);
    DELETE FROM job_errors WHERE tenant_id = tenant AND conversation_id = conversation;
    PERFORM forget_entries(tenant, entries_of_messages(tenant, conversation, seqs));
    RETURN revived;
END
$$;

-- Facts whose source the messages are; of a fact that had no other value not even its key stays.
CREATE OR REPLACE FUNCTION erase_facts_of(tenant uuid, message_ids uuid[]) RETURNS void LANGUAGE sql AS $$
    DELETE FROM facts WHERE tenant_id = tenant AND source_id = ANY (message_ids);
    DELETE FROM webhook_deliveries d USING (
        SELECT DISTINCT run_id, key FROM fact_versions WHERE tenant_id = tenant AND source_id = ANY (message_ids)) AS g
    WHERE d.tenant_id = tenant AND d.event LIKE 'fact.%' AND d.place = g.run_id AND d.ids ->> 'key' = g.key;
    WITH gone AS (
        DELETE FROM fact_versions WHERE tenant_id = tenant AND source_id = ANY (message_ids)
        RETURNING run_id, key, version
    )
    DELETE FROM fact_versions v USING (SELECT DISTINCT run_id, key FROM gone) AS g
    WHERE v.tenant_id = tenant AND v.run_id = g.run_id AND v.key = g.key AND v.value IS NULL AND NOT EXISTS (
        SELECT FROM fact_versions o WHERE o.tenant_id = tenant AND o.run_id = g.run_id AND o.key = g.key
            AND o.value IS NOT NULL AND NOT EXISTS (
                SELECT FROM gone WHERE gone.run_id = o.run_id AND gone.key = o.key AND gone.version = o.version));
$$;

-- Erases messages of a conversation that stays.
CREATE OR REPLACE FUNCTION erase_messages(tenant uuid, conversation uuid, seqs bigint[], who text, OUT messages bigint, OUT revived uuid[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    message_ids uuid[];
BEGIN
    PERFORM lock_for_erasing(tenant, conversation);
    message_ids := ARRAY(SELECT m.id FROM messages m
                         WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.seq = ANY (seqs));
    revived := erase_derived(tenant, conversation, seqs, message_ids);
    INSERT INTO retractions AS r (tenant_id, message_id, conversation_id, seq, run_id, visibility, private_to,
        retracted_by, erased_at)
    SELECT tenant, m.id, conversation, m.seq, m.run_id, m.visibility, m.private_to, who, clock_timestamp()
    FROM messages m WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.seq = ANY (seqs)
    ON CONFLICT (tenant_id, message_id) DO UPDATE
        -- a later moment: what was kept of the place before is known to be outdated by it
        SET retracted_by = excluded.retracted_by, reason = NULL, erased_at = excluded.erased_at,
            retracted_at = clock_timestamp();
    messages := blank_messages(tenant, conversation, seqs);
END
$$;

-- In the order of locks that everybody keeps.
CREATE OR REPLACE FUNCTION lock_for_erasing(tenant uuid, conversation uuid) RETURNS void LANGUAGE sql AS $$
    SELECT lock_summaries(tenant, conversation);
    SELECT lock_memories_of_run(tenant, run_id) FROM conversations WHERE tenant_id = tenant AND id = conversation;
    SELECT FROM conversations WHERE tenant_id = tenant AND id = conversation FOR NO KEY UPDATE;
$$;

-- The next messages of a conversation that goes as a whole, with what was derived from them; without any left, the
-- conversation itself.
CREATE OR REPLACE FUNCTION erase_part(tenant uuid, conversation uuid, amount integer, OUT messages bigint, OUT revived uuid[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    seqs bigint[];
    message_ids uuid[];
    gone uuid[];
BEGIN
    PERFORM lock_for_erasing(tenant, conversation);
    SELECT array_agg(m.seq), array_agg(m.id) INTO seqs, message_ids FROM (
        SELECT o.seq, o.id FROM messages o WHERE o.tenant_id = tenant AND o.conversation_id = conversation
        ORDER BY o.seq LIMIT amount) AS m;
    messages := COALESCE(cardinality(seqs), 0);
    gone := ARRAY(SELECT s.id FROM summaries s WHERE s.tenant_id = tenant AND s.conversation_id = conversation);
    DELETE FROM entries WHERE tenant_id = tenant AND source_id = ANY (gone);
    DELETE FROM summaries WHERE tenant_id = tenant AND conversation_id = conversation;
    IF messages = 0 THEN
        revived := erase_rest_of_conversation(tenant, conversation);
    ELSE
        revived := erase_derived(tenant, conversation, seqs, message_ids);
        DELETE FROM messages m WHERE m.tenant_id = tenant AND m.conversation_id = conversation AND m.seq = ANY (seqs);
    END IF;
END
$$;

-- What is of a conversation, and of no message in particular. The lock keeps everybody out who would add to it: what
-- refers to a conversation that is gone is refused from then on.
CREATE OR REPLACE FUNCTION erase_rest_of_conversation(tenant uuid, conversation uuid) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    revived uuid[];
    run text;
BEGIN
    SELECT run_id INTO run FROM conversations WHERE tenant_id = tenant AND id = conversation FOR UPDATE;
    IF EXISTS (SELECT FROM messages WHERE tenant_id = tenant AND conversation_id = conversation) THEN
        RETURN '{}';  -- said before the lock: with the next batch
    END IF;
    revived := drop_memories(tenant, ARRAY(
        SELECT id FROM memories WHERE tenant_id = tenant AND conversation_id = conversation), '{}');
    DELETE FROM working_memories WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM ledger_marks WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM composed_turns WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM compactions WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM extractions WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM outbox WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM job_errors WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM entries WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM retracted_entries WHERE tenant_id = tenant AND conversation_id = conversation;
    DELETE FROM fact_versions WHERE tenant_id = tenant AND conversation = ANY (said_in);
    DELETE FROM procrastinate_jobs WHERE status IN ('todo', 'failed')
        AND lock IN (SELECT t.task || ':' || tenant || ':' || conversation
                     FROM unnest(ARRAY['compact', 'describe', 'landmark', 'recompact']) AS t (task));
    DELETE FROM conversations WHERE tenant_id = tenant AND id = conversation;
    IF NOT EXISTS (SELECT FROM conversations WHERE tenant_id = tenant AND run_id = run) THEN
        DELETE FROM memory_revisions WHERE tenant_id = tenant AND run_id = run AND run NOT LIKE 'room:%';
    END IF;
    RETURN revived;
END
$$;

-- What is about a user, and of no conversation: gone at once with the first transaction, and again at the end, when what
-- came meanwhile goes, too.
CREATE OR REPLACE FUNCTION erase_about_user(tenant uuid, person text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    run text := 'profile:' || person;
BEGIN
    PERFORM lock_profile(tenant, person);
    DELETE FROM profiles WHERE tenant_id = tenant AND user_id = person;
    DELETE FROM profile_versions WHERE tenant_id = tenant AND run_id = run;
    DELETE FROM facts WHERE tenant_id = tenant AND run_id = run;
    DELETE FROM fact_versions WHERE tenant_id = tenant AND run_id = run;
    DELETE FROM webhook_deliveries WHERE tenant_id = tenant AND place = run;
    DELETE FROM participants WHERE tenant_id = tenant AND user_id = person;
    DELETE FROM introductions WHERE tenant_id = tenant AND user_id = person;
    UPDATE audit SET ids = ids - 'key' WHERE tenant_id = tenant AND action = 'fact.deleted' AND place = run;
    DELETE FROM composed_turns WHERE tenant_id = tenant AND user_id = person;
    DELETE FROM items WHERE tenant_id = tenant AND user_id = person;
    PERFORM forget_in_history_imports(tenant, person);
    DELETE FROM file_versions WHERE tenant_id = tenant AND private_to = person;
    UPDATE file_versions SET author = 'erased' WHERE tenant_id = tenant AND author = 'user:' || person;
    UPDATE users SET name = NULL WHERE tenant_id = tenant AND id = person;
    UPDATE keys SET revoked_at = COALESCE(revoked_at, clock_timestamp()), user_id = NULL
    WHERE tenant_id = tenant AND user_id = person;
END
$$;

-- The end of a user's erasure; false where they spoke meanwhile, which goes as well.
CREATE OR REPLACE FUNCTION erase_rest_of_user(tenant uuid, person text, OUT done boolean, OUT revived uuid[])
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM users WHERE tenant_id = tenant AND id = person FOR UPDATE;
    revived := drop_memories(tenant, ARRAY(
        SELECT id FROM memories WHERE tenant_id = tenant AND user_id = person ORDER BY run_id, id), '{}');
    PERFORM erase_about_user(tenant, person);
    DELETE FROM session_assignments WHERE tenant_id = tenant AND user_id = person;
    done := NOT EXISTS (SELECT FROM conversations WHERE tenant_id = tenant AND user_id = person);
    IF done THEN
        DELETE FROM users WHERE tenant_id = tenant AND id = person;
    END IF;
END
$$;

-- What is left of a tenant without conversations. Its row stays under a name that says nothing, for the audit, and so do
-- its keys, which are revoked: a service whose last key is gone would ask nobody for one.
CREATE OR REPLACE FUNCTION erase_rest_of_tenant(tenant uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    emptied text;
BEGIN
    PERFORM FROM tenants WHERE id = tenant FOR UPDATE;
    UPDATE memories SET superseded_by = NULL WHERE tenant_id = tenant;
    FOREACH emptied IN ARRAY ARRAY[
        'webhooks', 'history_imports', 'items', 'composed_turns', 'extractions', 'compactions', 'outbox', 'job_errors', 'ledger_marks', 'working_memories',
        'profile_versions', 'profiles', 'facts', 'fact_versions', 'memory_versions', 'memory_sources', 'memories',
        'memory_revisions', 'landmarks', 'summaries', 'tool_sentences', 'retracted_entries', 'retractions', 'entries',
        'document_frequencies', 'entry_counts', 'deleted_entries', 'messages', 'conversations', 'participants', 'rooms',
        'projects', 'agent_files', 'file_versions', 'agents', 'users', 'usage_by_day'
    ] LOOP
        EXECUTE format('DELETE FROM %I WHERE tenant_id = $1', emptied) USING tenant;
    END LOOP;
    DELETE FROM procrastinate_jobs WHERE args ->> 'tenant_id' = tenant::text AND status IN ('todo', 'failed');
    UPDATE tenants SET settings = '{}' WHERE id = tenant;
    UPDATE keys SET user_id = NULL, agent = NULL WHERE tenant_id = tenant;
END
$$;

-- Erases one message, in this one transaction. `only_user` and `only_agent` as in retract_message.
CREATE OR REPLACE FUNCTION erase_message(
    grant_ text, tenant uuid, conversation uuid, of_seq bigint, only_user text, only_agent text, who text, dry_run boolean,
    OUT erasure uuid, OUT counts jsonb, OUT revived uuid[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    m messages%ROWTYPE;
BEGIN
    SELECT * INTO m FROM find_to_retract(grant_, tenant, conversation, of_seq, only_user, only_agent);
    IF m.id IS NULL OR NOT may_retract(m, only_user, only_agent) OR is_erasing(tenant, conversation) OR EXISTS (
        SELECT FROM retractions r WHERE r.tenant_id = tenant AND r.message_id = m.id AND r.erased_at IS NOT NULL)
    THEN
        RETURN;
    END IF;
    PERFORM refuse_erasing_import(tenant, (SELECT c.external_id FROM conversations c
                                           WHERE c.tenant_id = tenant AND c.id = conversation));
    counts := jsonb_build_object(
        'messages', 1,
        'landmarks', (SELECT count(*) FROM landmarks l
                      WHERE l.tenant_id = tenant AND l.conversation_id = conversation AND l.seq = of_seq),
        'memories', (SELECT count(DISTINCT s.memory_id) FROM memory_sources s
                     WHERE s.tenant_id = tenant AND s.message_id = m.id),
        'facts', (SELECT count(*) FROM facts f WHERE f.tenant_id = tenant AND f.source_id = m.id));
    IF dry_run THEN
        RETURN;
    END IF;
    INSERT INTO erasures (tenant_id, kind, run_ids, key_id, counts)
    VALUES (tenant, 'message', ARRAY[m.run_id], grant_::jsonb #>> '{by,key}', counts)
    RETURNING id INTO erasure;
    SELECT e.revived INTO revived FROM erase_messages(tenant, conversation, ARRAY[of_seq], who) AS e;
    UPDATE erasures SET state = 'erased', erased_at = clock_timestamp(), erased_messages = 1
    WHERE tenant_id = tenant AND id = erasure;
    PERFORM note_audit(grant_::jsonb, tenant, 'message.erased', m.run_id, jsonb_build_object(
        'conversation', conversation, 'seq', of_seq, 'message', m.id, 'erasure', erasure));
END
$$;

-- Begins the erasure of a conversation: from here on it is nowhere.
CREATE OR REPLACE FUNCTION begin_conversation_erasure(
    grant_ text, tenant uuid, conversation uuid, dry_run boolean, OUT erasure uuid, OUT counts jsonb
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    c conversations%ROWTYPE;
BEGIN
    SELECT * INTO c FROM conversations WHERE tenant_id = tenant AND id = conversation FOR NO KEY UPDATE;
    IF NOT FOUND OR is_erasing(tenant, conversation) THEN
        RETURN;
    END IF;
    PERFORM require_erases(grant_::jsonb, tenant, c), refuse_erasing_import(tenant, c.external_id);
    counts := count_erasure(tenant, ARRAY[conversation], NULL);
    IF dry_run THEN
        RETURN;
    END IF;
    INSERT INTO erasures (tenant_id, kind, conversation_ids, run_ids, names, key_id, counts)
    VALUES (tenant, 'conversation', ARRAY[conversation], ARRAY[c.run_id], ARRAY[c.external_id],
        grant_::jsonb #>> '{by,key}', counts)
    RETURNING id INTO erasure;
    PERFORM erase_facts_said_in(tenant, ARRAY[conversation]);
    PERFORM note_audit(grant_::jsonb, tenant, 'conversation.erased', c.run_id, jsonb_build_object(
        'conversation', conversation, 'name', c.external_id, 'messages', counts -> 'messages', 'erasure', erasure));
END
$$;

CREATE OR REPLACE FUNCTION require_erases(g jsonb, tenant uuid, c conversations) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT (grants_owner(g) AND (g ->> 'tenant')::uuid = tenant) THEN
        PERFORM require_writes(g, tenant, c.run_id, c.visibility, c.private_to);
    END IF;
END
$$;

-- Facts that come from conversations, and their versions.
CREATE OR REPLACE FUNCTION erase_facts_said_in(tenant uuid, whole uuid[]) RETURNS void LANGUAGE sql AS $$
    DELETE FROM facts WHERE tenant_id = tenant AND said_in && whole;
    DELETE FROM webhook_deliveries d USING (
        SELECT DISTINCT run_id, key FROM fact_versions WHERE tenant_id = tenant AND said_in && whole) AS g
    WHERE d.tenant_id = tenant AND d.event LIKE 'fact.%' AND d.place = g.run_id AND d.ids ->> 'key' = g.key;
    DELETE FROM fact_versions WHERE tenant_id = tenant AND said_in && whole;
$$;

-- Begins the erasure of a user: their conversations, what they said elsewhere, and all that is about them.
CREATE OR REPLACE FUNCTION begin_user_erasure(
    grant_ text, tenant uuid, person text, dry_run boolean, OUT erasure uuid, OUT counts jsonb
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    g jsonb := grant_;
    whole uuid[];
    elsewhere uuid[];
BEGIN
    IF (g ->> 'tenant')::uuid IS DISTINCT FROM tenant
        OR NOT (grants_owner(g) OR COALESCE((g ->> 'vouches')::boolean AND g #>> '{by,name}' = 'user:' || person, false))
    THEN
        RAISE EXCEPTION 'the grant does not let erase this user' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM users WHERE tenant_id = tenant AND id = person FOR NO KEY UPDATE;
    IF NOT FOUND OR is_erasing_user(tenant, person) THEN
        RETURN;
    END IF;
    PERFORM refuse_erasing_import(tenant);
    whole := ARRAY(SELECT c.id FROM conversations c
                   WHERE c.tenant_id = tenant AND c.user_id = person AND NOT is_erasing(tenant, c.id) ORDER BY c.id);
    counts := count_erasure(tenant, whole, person);
    IF dry_run THEN
        RETURN;
    END IF;
    elsewhere := ARRAY(SELECT DISTINCT m.conversation_id FROM messages m
                       WHERE m.tenant_id = tenant AND m.user_id = person AND NOT EXISTS (
                           SELECT FROM unnest(whole) AS w (id) WHERE w.id = m.conversation_id) ORDER BY 1);
    INSERT INTO erasures (tenant_id, kind, conversation_ids, spoken_in, run_ids, names, user_id, key_id, counts)
    SELECT tenant, 'user', whole, elsewhere, COALESCE(array_agg(DISTINCT c.run_id), '{}'),
        COALESCE(array_agg(c.external_id), '{}'), person, g #>> '{by,key}', counts
    FROM conversations c WHERE c.tenant_id = tenant AND c.id = ANY (whole || elsewhere)
    RETURNING id INTO erasure;
    -- for the audit, which triggers write
    PERFORM set_config('keepword.grant', grant_, true), erase_facts_said_in(tenant, whole), erase_about_user(tenant, person);
    PERFORM note_audit(g, tenant, 'user.erased', NULL, jsonb_build_object(
        'user', person, 'messages', counts -> 'messages', 'conversations', counts -> 'conversations', 'erasure', erasure));
END
$$;

-- Begins the erasure of a tenant: its keys stop working, and its name is free again.
CREATE OR REPLACE FUNCTION begin_tenant_erasure(grant_ text, tenant uuid, dry_run boolean, OUT erasure uuid, OUT counts jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    held tenants%ROWTYPE;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant), refuse_erasing_import(tenant);
    SELECT * INTO held FROM tenants WHERE id = tenant FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM erasures WHERE tenant_id = tenant AND kind = 'tenant') THEN
        RETURN;
    END IF;
    counts := count_tenant_erasure(tenant);
    IF dry_run THEN
        RETURN;
    END IF;
    INSERT INTO erasures (tenant_id, kind, key_id, counts)
    VALUES (tenant, 'tenant', grant_::jsonb #>> '{by,key}', counts) RETURNING id INTO erasure;
    PERFORM set_config('keepword.grant', grant_, true);
    UPDATE keys SET revoked_at = clock_timestamp() WHERE tenant_id = tenant AND revoked_at IS NULL;
    UPDATE tenants SET name = 'erased ' || erasure WHERE id = tenant;
    IF held.name = 'default' THEN
        INSERT INTO tenants (name) VALUES ('default');  -- there always is one
    END IF;
    PERFORM note_audit(grant_::jsonb, tenant, 'tenant.erased', NULL, jsonb_build_object(
        'name', held.name, 'messages', counts -> 'messages', 'erasure', erasure));
END
$$;

-- Goes on with an erasure, the oldest if none is named: one batch, one transaction. Nothing is returned where there is
-- nothing to do, or where another worker has it.
CREATE OR REPLACE FUNCTION advance_erasure(wanted uuid, amount integer)
RETURNS TABLE (tenant uuid, erasure uuid, state text, erased_messages bigint, revived uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
DECLARE
    e erasures%ROWTYPE;
    next uuid;
    taken bigint := 0;
    is_last boolean := false;
BEGIN
    SELECT * INTO e FROM erasures o WHERE o.state = 'running' AND (wanted IS NULL OR o.id = wanted)
        AND NOT is_resting(o.tenant_id)
    ORDER BY o.requested_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    revived := '{}';
    next := (SELECT c.id FROM conversations c WHERE c.tenant_id = e.tenant_id
                 AND (e.kind = 'tenant' OR c.id = ANY (e.conversation_ids)) LIMIT 1);
    IF next IS NOT NULL THEN
        SELECT p.messages, p.revived INTO taken, revived FROM erase_part(e.tenant_id, next, amount) AS p;
    ELSIF e.spoken_in <> '{}' THEN
        SELECT p.messages, p.revived INTO taken, revived FROM erase_next_of_user(e, amount) AS p;
    ELSIF e.kind = 'user' THEN
        SELECT r.done, r.revived INTO is_last, revived FROM erase_rest_of_user(e.tenant_id, e.user_id) AS r;
        IF NOT is_last THEN
            UPDATE erasures o SET conversation_ids = o.conversation_ids || ARRAY(
                SELECT c.id FROM conversations c WHERE c.tenant_id = e.tenant_id AND c.user_id = e.user_id)
            WHERE o.tenant_id = e.tenant_id AND o.id = e.id;
        END IF;
    ELSE
        IF e.kind = 'tenant' THEN
            PERFORM erase_rest_of_tenant(e.tenant_id);
        END IF;
        is_last := true;
    END IF;
    UPDATE erasures o SET erased_messages = o.erased_messages + taken,
        state = CASE WHEN is_last THEN 'erased' ELSE o.state END,
        erased_at = CASE WHEN is_last THEN clock_timestamp() END
    WHERE o.tenant_id = e.tenant_id AND o.id = e.id
    RETURNING o.tenant_id, o.id, o.state, o.erased_messages INTO tenant, erasure, state, erased_messages;
    RETURN NEXT;
END
$$;

-- The next messages that a user said in a conversation of others.
CREATE OR REPLACE FUNCTION erase_next_of_user(e erasures, amount integer, OUT messages bigint, OUT revived uuid[])
LANGUAGE plpgsql AS $$
DECLARE
    conversation uuid := e.spoken_in[1];
    seqs bigint[] := ARRAY(
        SELECT m.seq FROM messages m WHERE m.tenant_id = e.tenant_id AND m.conversation_id = conversation
            AND m.seq > e.after_seq AND m.user_id = e.user_id ORDER BY m.seq LIMIT amount);
BEGIN
    messages := 0;
    IF seqs = '{}' THEN
        -- scratch of all who were there, which may repeat what one of them said
        DELETE FROM working_memories w WHERE w.tenant_id = e.tenant_id AND w.conversation_id = conversation;
        DELETE FROM ledger_marks l WHERE l.tenant_id = e.tenant_id AND l.conversation_id = conversation;
        UPDATE erasures SET spoken_in = spoken_in[2:], after_seq = 0 WHERE tenant_id = e.tenant_id AND id = e.id;
        RETURN;
    END IF;
    SELECT p.messages, p.revived INTO messages, revived FROM erase_messages(e.tenant_id, conversation, seqs, NULL) AS p;
    UPDATE erasures SET after_seq = seqs[cardinality(seqs)] WHERE tenant_id = e.tenant_id AND id = e.id;
END
$$;

-- Erasures whose files are still to be rewritten, with what is kept of them outside of the database.
CREATE OR REPLACE FUNCTION find_erased()
RETURNS TABLE (tenant uuid, erasure uuid, kind text, names text[], run_ids text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT tenant_id, id, kind, names, run_ids FROM erasures
    WHERE state = 'erased' AND NOT is_resting(tenant_id) ORDER BY requested_at LIMIT 100
$$;

CREATE OR REPLACE FUNCTION finish_erasure(tenant uuid, erasure uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    UPDATE erasures SET state = 'done', done_at = clock_timestamp(), user_id = NULL, conversation_ids = '{}',
        spoken_in = '{}', run_ids = '{}', names = '{}'
    WHERE tenant_id = tenant AND id = erasure AND state = 'erased'
$$;

-- How an erasure stands, for the tenant's owner and for the key that asked for it.
CREATE OR REPLACE FUNCTION show_erasure(grant_ text, tenant uuid, wanted uuid)
RETURNS TABLE (id uuid, kind text, state text, counts jsonb, erased_messages bigint, requested_at timestamptz,
               erased_at timestamptz, done_at timestamptz, forgotten_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT e.id, e.kind, e.state, e.counts, e.erased_messages, e.requested_at, e.erased_at, e.done_at, e.forgotten_at
    FROM erasures e
    WHERE e.tenant_id = tenant AND e.id = wanted AND (grant_::jsonb ->> 'tenant')::uuid = tenant
        AND (grants_owner(grant_::jsonb) OR e.key_id = grant_::jsonb #>> '{by,key}')
$$;

-- Notes that a process is there, which has had its memory for so many seconds; tells whether a process of its service was
-- there before the rows of an erasure were gone. One that is not seen any more counts for another minute.
CREATE OR REPLACE FUNCTION note_process(of_service uuid, of_number integer, age_seconds double precision, is_new boolean)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    at timestamptz := clock_timestamp();
BEGIN
    INSERT INTO processes AS p (service, number, since, seen_at)
    VALUES (of_service, of_number, at - age_seconds * interval '1 second', at)
    ON CONFLICT (service, number) DO UPDATE
        SET seen_at = at, since = CASE WHEN is_new THEN excluded.since ELSE p.since END
        WHERE is_new OR p.seen_at < at - interval '15 seconds';
    IF is_new THEN
        DELETE FROM processes WHERE seen_at < at - interval '1 day';
    END IF;
    -- one of a tenant that is being moved is noted once the tenant may be written to again
    UPDATE erasures e SET forgotten_at = at
    WHERE e.forgotten_at IS NULL AND e.erased_at IS NOT NULL AND e.state = 'done' AND NOT is_resting(e.tenant_id) AND NOT EXISTS (
        SELECT FROM processes p WHERE p.since <= e.erased_at AND p.seen_at > at - interval '60 seconds');
    -- a moment later, so that erasures in a row are forgotten at once; a file that can't be rewritten is not waited for
    RETURN EXISTS (
        SELECT FROM erasures e
        WHERE e.forgotten_at IS NULL AND e.erased_at IS NOT NULL
            AND (e.done_at < at - interval '2 seconds' OR e.erased_at < at - interval '30 seconds')
            AND EXISTS (
                SELECT FROM processes p WHERE p.service = of_service AND p.since <= e.erased_at
                    AND p.seen_at > at - interval '60 seconds'));
END
$$;

-- When something was erased last: what a process keeps of before is dropped.
CREATE OR REPLACE FUNCTION last_erasure() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    SELECT GREATEST(max(erased_at), (SELECT max(requested_at) FROM erasures WHERE state <> 'done')) FROM erasures
    WHERE erased_at IS NOT NULL
$$;

-- The days for which a conversation keeps its messages by itself, or by its room.
CREATE OR REPLACE FUNCTION own_retention(tenant uuid, conversation uuid) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT COALESCE(c.retention_days, r.retention_days)
    FROM conversations c LEFT JOIN rooms r ON r.tenant_id = c.tenant_id AND r.id = c.room_id
    WHERE c.tenant_id = tenant AND c.id = conversation
$$;

-- For how long a room or a conversation keeps its messages, for the tenant's owner.
CREATE OR REPLACE FUNCTION find_retention(grant_ text, tenant uuid, room text, conversation uuid)
RETURNS TABLE (retention_days integer, days integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
DECLARE
    of_tenant integer := (SELECT (t.settings ->> 'retention_days')::integer FROM tenants t WHERE t.id = tenant);
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY
        SELECT r.retention_days, COALESCE(r.retention_days, of_tenant) FROM rooms r
        WHERE r.tenant_id = tenant AND r.id = room
        UNION ALL
        SELECT c.retention_days, COALESCE(own_retention(tenant, c.id), of_tenant) FROM conversations c
        WHERE c.tenant_id = tenant AND c.id = conversation;
END
$$;

-- Lets a room or a conversation keep its messages for so many days; null: for as long as what it is in.
CREATE OR REPLACE FUNCTION change_retention(grant_ text, tenant uuid, room text, conversation uuid, new_days integer)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    run text;
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    UPDATE rooms r SET retention_days = new_days
    WHERE r.tenant_id = tenant AND r.id = room AND r.retention_days IS DISTINCT FROM new_days RETURNING r.run_id INTO run;
    IF conversation IS NOT NULL THEN
        UPDATE conversations c SET retention_days = new_days
        WHERE c.tenant_id = tenant AND c.id = conversation AND c.retention_days IS DISTINCT FROM new_days
        RETURNING c.run_id INTO run;
    END IF;
    IF run IS NOT NULL THEN
        PERFORM note_audit(grant_::jsonb, tenant, 'retention.changed', run, jsonb_build_object(
            'room', room, 'conversation', conversation, 'days', new_days));
    END IF;
END
$$;

-- The conversation of the oldest message that its place keeps no longer, and the time before which it keeps none: of
-- those that have days of their own, else of tenants that have some. Not while something is imported.
CREATE OR REPLACE FUNCTION find_expired(at timestamptz, OUT tenant uuid, OUT conversation uuid, OUT before timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT f.tenant_id, f.conversation_id, f.before FROM (
        (SELECT c.tenant_id, o.conversation_id, c.before FROM (
            SELECT k.tenant_id, k.id, at - own_retention(k.tenant_id, k.id) * interval '1 day' AS before FROM (
                SELECT n.tenant_id, n.id FROM conversations n WHERE n.retention_days IS NOT NULL
                UNION
                SELECT n.tenant_id, n.id FROM rooms r
                JOIN conversations n ON n.tenant_id = r.tenant_id AND n.room_id = r.id
                WHERE r.retention_days IS NOT NULL) AS k OFFSET 0) AS c
        CROSS JOIN LATERAL (
            SELECT m.conversation_id FROM messages m
            WHERE m.tenant_id = c.tenant_id AND m.conversation_id = c.id AND m.created_at < c.before
                AND NOT is_erasing(m.tenant_id, m.conversation_id) AND NOT is_erased(m.tenant_id, m.id)
            ORDER BY m.created_at, m.seq LIMIT 1) AS o
        WHERE may_expire(c.tenant_id) LIMIT 1)
        UNION ALL
        (SELECT t.id, o.conversation_id, t.before FROM (
            SELECT n.id, at - (n.settings ->> 'retention_days')::integer * interval '1 day' AS before
            FROM tenants n WHERE n.settings ->> 'retention_days' IS NOT NULL) AS t
        CROSS JOIN LATERAL (
            SELECT m.conversation_id FROM messages m
            WHERE m.tenant_id = t.id AND m.created_at < t.before
                AND NOT is_erasing(m.tenant_id, m.conversation_id) AND NOT is_erased(m.tenant_id, m.id)
                AND own_retention(m.tenant_id, m.conversation_id) IS NULL
            ORDER BY m.created_at LIMIT 1) AS o
        WHERE may_expire(t.id) LIMIT 1)) AS f LIMIT 1
$$;

CREATE OR REPLACE FUNCTION is_erased(tenant uuid, message uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM retractions r
                   WHERE r.tenant_id = tenant AND r.message_id = message AND r.erased_at IS NOT NULL)
$$;

CREATE OR REPLACE FUNCTION may_expire(tenant uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = tenant) AND NOT is_being_imported(tenant, NULL)
        AND NOT is_resting(tenant)
$$;

-- Erases a batch of messages that are older than their place keeps them, of one conversation. Nothing is returned where
-- none is.
CREATE OR REPLACE FUNCTION erase_expired(at timestamptz, amount integer)
RETURNS TABLE (tenant uuid, erasure uuid, state text, erased_messages bigint, revived uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c conversations%ROWTYPE;
    before timestamptz;
    seqs bigint[];
BEGIN
    -- one worker at a time; the others do something else
    IF NOT pg_try_advisory_xact_lock(hashtext('keepword.erase_expired')) THEN
        RETURN;
    END IF;
    SELECT f.tenant, f.before, f.conversation INTO tenant, before, c.id FROM find_expired(at) AS f;
    IF tenant IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO c FROM conversations o WHERE o.tenant_id = tenant AND o.id = c.id;
    seqs := ARRAY(
        SELECT m.seq FROM messages m WHERE m.tenant_id = tenant AND m.conversation_id = c.id AND m.created_at < before
            AND NOT EXISTS (SELECT FROM retractions r
                            WHERE r.tenant_id = tenant AND r.message_id = m.id AND r.erased_at IS NOT NULL)
        ORDER BY m.created_at, m.seq LIMIT amount);
    INSERT INTO erasures AS e (tenant_id, kind, run_ids, counts)
    VALUES (tenant, 'message', ARRAY[c.run_id], jsonb_build_object('messages', cardinality(seqs)))
    RETURNING e.id INTO erasure;
    SELECT p.messages, p.revived INTO erased_messages, revived FROM erase_messages(tenant, c.id, seqs, 'retention') AS p;
    -- scratch that nobody refreshed since may repeat what expired
    DELETE FROM ledger_marks l WHERE l.tenant_id = tenant AND l.conversation_id = c.id AND l.marked_at < before;
    UPDATE erasures e SET state = 'erased', erased_at = clock_timestamp(), erased_messages = cardinality(seqs)
    WHERE e.tenant_id = tenant AND e.id = erasure;
    PERFORM note_audit(NULL, tenant, 'message.expired', c.run_id, jsonb_build_object(
        'conversation', c.id, 'messages', cardinality(seqs), 'erasure', erasure));
    state := 'erased';
    RETURN NEXT;
END
$$;
