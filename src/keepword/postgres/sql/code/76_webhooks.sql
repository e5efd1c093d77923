-- Webhooks: a change notes, in its own transaction, which addresses are to be told of it; a worker tells them.

CREATE OR REPLACE FUNCTION wants_event(events text[], event text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT event = ANY (events) OR split_part(event, '.', 1) = ANY (events) OR '*' = ANY (events)
$$;

-- What an import brings was told where it happened.
CREATE OR REPLACE FUNCTION note_delivery(tenant uuid, event_ text, run text, what jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO webhook_deliveries (tenant_id, webhook_id, event, place, ids)
    SELECT tenant, w.id, event_, run, jsonb_strip_nulls(what) FROM webhooks w
    WHERE w.tenant_id = tenant AND w.is_active AND wants_event(w.events, event_)
        AND NOT EXISTS (SELECT FROM imports i WHERE i.tenant_id = tenant)
$$;

CREATE OR REPLACE FUNCTION tell_of_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_delivery(a.tenant_id, 'memory.' || a.event, a.run_id, jsonb_build_object(
        'memory', a.memory_id, 'version', a.version, 'superseded_by', a.superseded_by))
    FROM added a WHERE EXISTS (SELECT FROM webhooks w WHERE w.tenant_id = a.tenant_id AND w.is_active);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER memories_are_told AFTER INSERT ON memory_versions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_of_memories();

CREATE OR REPLACE FUNCTION tell_of_facts() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_delivery(
        a.tenant_id, CASE WHEN a.value IS NULL THEN 'fact.deleted' ELSE 'fact.set' END, a.run_id, jsonb_build_object(
            'scope_kind', a.scope_kind, 'scope_id', a.scope_id, 'key', a.key, 'version', a.version))
    FROM added a WHERE EXISTS (SELECT FROM webhooks w WHERE w.tenant_id = a.tenant_id AND w.is_active);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER facts_are_told AFTER INSERT ON fact_versions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_of_facts();

CREATE OR REPLACE FUNCTION tell_of_profiles() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_delivery(
        a.tenant_id, CASE WHEN a.memory IS NULL THEN 'profile.deleted' ELSE 'profile.written' END, a.run_id,
        jsonb_build_object('profile', a.profile_id, 'version', a.version))
    FROM added a WHERE EXISTS (SELECT FROM webhooks w WHERE w.tenant_id = a.tenant_id AND w.is_active);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER profiles_are_told AFTER INSERT ON profile_versions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_of_profiles();

CREATE OR REPLACE FUNCTION tell_of_summaries() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_delivery(
        a.tenant_id, 'summary.made', a.run_id, jsonb_build_object(
            'summary', a.id, 'tier', a.tier, 'first_seq', a.first_seq, 'last_seq', a.last_seq))
    FROM added a
    WHERE a.serving AND EXISTS (SELECT FROM webhooks w WHERE w.tenant_id = a.tenant_id AND w.is_active);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER new_summaries_are_told AFTER INSERT ON summaries
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tell_of_summaries();

-- A parent that is set, or a version that begins to serve, says nothing new: only another text does.
CREATE OR REPLACE FUNCTION tell_of_summary() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM note_delivery(NEW.tenant_id, 'summary.changed', NEW.run_id, jsonb_build_object(
        'summary', NEW.id, 'tier', NEW.tier, 'first_seq', NEW.first_seq, 'last_seq', NEW.last_seq));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER changed_summaries_are_told AFTER UPDATE OF content ON summaries
    FOR EACH ROW WHEN (NEW.serving AND OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION tell_of_summary();

-- A delivery that somebody asked for, to try the address; None where there is no such webhook.
CREATE OR REPLACE FUNCTION test_webhook(grant_ text, tenant uuid, hook uuid) RETURNS TABLE (delivery uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    PERFORM require_everything(grant_::jsonb, tenant);
    RETURN QUERY
    INSERT INTO webhook_deliveries (tenant_id, webhook_id, event)
    SELECT tenant, w.id, 'webhook.test' FROM webhooks w WHERE w.tenant_id = tenant AND w.id = hook RETURNING id;
END
$$;

-- For the worker, in all tenants: at most `per_hook` of one webhook, so that a slow address does not keep others waiting.
-- Until the lease ends nobody else gets them.
CREATE OR REPLACE FUNCTION claim_deliveries(most integer, per_hook integer, lease interval)
RETURNS TABLE (
    tenant_id uuid, tenant text, id uuid, webhook_id uuid, url text, secret text, event text, place text, ids jsonb,
    at timestamptz, attempts integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH due AS (
        SELECT d.tenant_id, d.id, d.due_at, row_number() OVER (PARTITION BY d.tenant_id, d.webhook_id ORDER BY d.due_at, d.at) AS nth
        FROM (SELECT * FROM webhook_deliveries WHERE due_at <= clock_timestamp() AND NOT is_resting(tenant_id)
              ORDER BY due_at LIMIT 50 * most) AS d
    ), chosen AS (
        SELECT d.tenant_id, d.id FROM webhook_deliveries d
        JOIN (SELECT * FROM due WHERE nth <= per_hook ORDER BY due_at LIMIT most) AS c USING (tenant_id, id)
        WHERE d.due_at <= clock_timestamp()
        FOR UPDATE OF d SKIP LOCKED
    )
    UPDATE webhook_deliveries d SET attempts = d.attempts + 1, due_at = clock_timestamp() + lease
    FROM chosen c, webhooks w, tenants t
    WHERE d.tenant_id = c.tenant_id AND d.id = c.id AND w.tenant_id = d.tenant_id AND w.id = d.webhook_id
        AND t.id = d.tenant_id
    RETURNING d.tenant_id, t.name, d.id, d.webhook_id, w.url, w.secret, d.event, d.place, d.ids, d.at, d.attempts;
END
$$;

-- What came of an attempt: without a next time it arrived (no error), or is given up, and then the webhook is stopped.
CREATE OR REPLACE FUNCTION finish_delivery(tenant uuid, delivery uuid, answered integer, failure text, retry_in interval) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    hook uuid;
BEGIN
    UPDATE webhook_deliveries SET status = answered, error = failure, due_at = clock_timestamp() + retry_in,
        delivered_at = CASE WHEN failure IS NULL THEN clock_timestamp() END
    WHERE tenant_id = tenant AND id = delivery RETURNING webhook_id INTO hook;
    IF failure IS NOT NULL AND retry_in IS NULL THEN
        UPDATE webhooks SET is_active = false, updated_at = clock_timestamp(),
            stopped_because = 'a delivery was given up: ' || failure
        WHERE tenant_id = tenant AND id = hook AND is_active;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION sweep_deliveries(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH gone AS (DELETE FROM webhook_deliveries WHERE due_at IS NULL AND at < before AND NOT is_resting(tenant_id) RETURNING 1)
    SELECT count(*) FROM gone
$$;

-- An address outside learns from now on, or no more, what changes here.
CREATE OR REPLACE FUNCTION audit_webhook() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
DECLARE
    w webhooks := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    PERFORM note_audit(granted(), w.tenant_id,
        CASE TG_OP WHEN 'INSERT' THEN 'webhook.made' WHEN 'DELETE' THEN 'webhook.deleted' ELSE 'webhook.changed' END,
        NULL, jsonb_build_object('webhook', w.id, 'is_active', w.is_active));
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER webhooks_are_audited AFTER INSERT OR DELETE OR UPDATE OF url, events, is_active ON webhooks
    FOR EACH ROW EXECUTE FUNCTION audit_webhook();
