-- Composed turns: kept for as long as the service is told to.

-- Keeps one in the place of its conversation, for a grant that opens that place; a reader's key composes as well.
CREATE OR REPLACE FUNCTION keep_turn(grant_ text, tenant uuid, conversation uuid, t jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
BEGIN
    INSERT INTO composed_turns (
        tenant_id, id, conversation_id, run_id, visibility, private_to, agent, user_id, asked, template, recipe, reach,
        window_tokens, tokens, injected_tokens, proposed_tokens, compacted, sections, left_out, degraded, created_at)
    SELECT tenant, (t ->> 'id')::uuid, c.id, c.run_id, c.visibility, c.private_to, t ->> 'agent', t ->> 'user',
        (t ->> 'asked')::uuid, t ->> 'template', t ->> 'recipe', t ->> 'reach', (t ->> 'window_tokens')::bigint,
        (t ->> 'tokens')::bigint, (t ->> 'injected_tokens')::bigint, (t ->> 'proposed_tokens')::bigint,
        (t ->> 'compacted')::bigint, t -> 'sections', t -> 'left_out', t -> 'degraded', (t ->> 'created_at')::timestamptz
    FROM conversations c
    WHERE c.tenant_id = tenant AND c.id = conversation
        AND grant_opens(grant_::jsonb, tenant, c.run_id, c.visibility, c.private_to);
    RETURN FOUND;
END
$$;

-- Frees what is older, in all tenants.
CREATE OR REPLACE FUNCTION sweep_turns(before timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = keepword, pg_temp AS $$
    WITH gone AS (DELETE FROM composed_turns WHERE created_at < before AND NOT is_resting(tenant_id) RETURNING 1)
    SELECT count(*) FROM gone
$$;
