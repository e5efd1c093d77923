-- The second wall: row-level security for the application role. The grant is one JSON object in the setting
-- keepword.grant, set until the end of the transaction; without it there are no rows. The wall guards against a
-- forgotten filter, not against the application itself, which sets the grant.
-- Policies ask in sub-selects, so that each question is answered once per query, and run_ids in sub-selects of their
-- own, so that they are hashed: a project may have thousands of sessions.
-- A table whose policies are not here opens nothing: it is reached through functions alone.

-- What was said or derived: it must have tenant_id, run_id, visibility and private_to.
-- each {"table": ["messages", "entries", "vectors", "working_memories", "ledger_marks", "profiles", "summaries", "landmarks", "tool_sentences", "memories", "memory_sources", "memory_versions", "composed_turns", "file_versions", "items", "item_parts", "item_vectors"]}
CREATE POLICY readable ON {table} FOR SELECT TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR ((run_id = (SELECT granted_first_run()) OR run_id IN (SELECT granted_run_ids())
              OR ((SELECT granted_more_sessions()) AND run_id IN (SELECT granted_sessions())))
             AND visibility = ANY ((SELECT granted_visibilities())::text[])
             AND (visibility <> 'private' OR private_to = (SELECT granted_private_to())))));
-- end

-- What was taken back is for the tenant's owner who asks for it, and so is what was derived from it and stays with it.
CREATE POLICY known ON retractions FOR SELECT TO keepword_app USING (tenant_id = (SELECT granted_tenant()));
CREATE POLICY known ON erasures FOR SELECT TO keepword_app USING (tenant_id = (SELECT granted_tenant()));

-- What is being erased is nobody's any more, before its rows are gone.
CREATE POLICY not_erased ON conversations AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    NOT (SELECT granted_erasing()) OR id NOT IN (SELECT granted_erasing_conversations()));
-- each {"table": ["summaries", "landmarks", "tool_sentences", "working_memories", "ledger_marks", "composed_turns"]}
CREATE POLICY not_erased ON {table} AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    NOT (SELECT granted_erasing()) OR conversation_id NOT IN (SELECT granted_erasing_conversations()));
-- end
-- each {"table": ["messages", "entries", "memories"]}
CREATE POLICY not_erased ON {table} AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    NOT (SELECT granted_erasing())
    OR ((conversation_id IS NULL OR conversation_id NOT IN (SELECT granted_erasing_conversations()))
        AND (user_id IS NULL OR user_id NOT IN (SELECT granted_erasing_users()))));
-- end
-- each {"table": ["landmarks", "tool_sentences"]}
CREATE POLICY said_by_nobody_erased ON {table} AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    NOT (SELECT granted_erasing()) OR EXISTS (
        SELECT FROM messages m WHERE m.tenant_id = {table}.tenant_id AND m.conversation_id = {table}.conversation_id
            AND m.seq = {table}.seq));
-- end
CREATE POLICY not_erased ON vectors AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    NOT (SELECT granted_erasing()) OR EXISTS (
        SELECT FROM entries e WHERE e.tenant_id = vectors.tenant_id AND e.id = vectors.entry_id));
-- each {"table": ["memory_sources", "memory_versions"]}
CREATE POLICY not_erased ON {table} AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    NOT (SELECT granted_erasing()) OR EXISTS (
        SELECT FROM memories m WHERE m.tenant_id = {table}.tenant_id AND m.id = {table}.memory_id));
-- end

CREATE POLICY not_retracted ON messages AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    (SELECT granted_retracted())
    OR NOT EXISTS (SELECT FROM retractions r WHERE r.tenant_id = messages.tenant_id AND r.message_id = messages.id));
-- each {"table": ["landmarks", "tool_sentences"]}
CREATE POLICY not_retracted ON {table} AS RESTRICTIVE FOR SELECT TO keepword_app USING (NOT EXISTS (
    SELECT FROM retractions r
    WHERE r.tenant_id = {table}.tenant_id AND r.conversation_id = {table}.conversation_id AND r.seq = {table}.seq));
-- end
CREATE POLICY not_retracted ON fact_versions AS RESTRICTIVE FOR SELECT TO keepword_app USING (
    source_id IS NULL
    OR NOT EXISTS (SELECT FROM retractions r WHERE r.tenant_id = fact_versions.tenant_id AND r.message_id = source_id));

-- Written in the one place that the grant lets write.
-- each {"table": ["messages", "entries", "vectors", "working_memories", "ledger_marks", "facts", "fact_versions", "summaries", "landmarks", "tool_sentences", "memories", "memory_sources", "memory_versions"]}
CREATE POLICY writable ON {table} FOR INSERT TO keepword_app WITH CHECK (
    tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes())
    AND visibility = ANY ((SELECT granted_visibilities())::text[])
    AND (visibility <> 'private' OR private_to = (SELECT granted_private_to())));
-- end

-- A message is vouched for only by a key that does.
CREATE POLICY vouched ON messages AS RESTRICTIVE FOR INSERT TO keepword_app
    WITH CHECK (NOT vouched OR (SELECT granted_vouches()));

-- Content whose rows change: only in the place that may be written.
-- each {"table": ["working_memories", "ledger_marks"]}
CREATE POLICY changeable ON {table} FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes()));
CREATE POLICY deletable ON {table} FOR DELETE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes()));
-- end

-- Registries: only the tenant's owner manages them.
-- each {"table": ["users", "agents", "agent_files", "projects", "rooms", "participants", "webhooks"]}
CREATE POLICY owned ON {table} TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()))
    WITH CHECK (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()));
-- end

-- Inside the tenant everybody knows its agents and their files: a turn in any place needs them.
-- each {"table": ["agents", "agent_files"]}
CREATE POLICY known ON {table} FOR SELECT TO keepword_app USING (tenant_id = (SELECT granted_tenant()));
-- end
CREATE POLICY known ON spaces FOR SELECT TO keepword_app USING (true);

-- A room and its participants open to who is in it.
-- each {"table": ["rooms", "participants"]}
CREATE POLICY entered ON {table} FOR SELECT TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND run_id IN (SELECT granted_run_ids()));
-- end

-- Conversations open to who is in them and to the tenant's owner.
CREATE POLICY readable ON conversations FOR SELECT TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR run_id IN (SELECT granted_run_ids())
         OR ((SELECT granted_more_sessions()) AND run_id IN (SELECT granted_sessions()))));
CREATE POLICY makeable ON conversations FOR INSERT TO keepword_app WITH CHECK (
    tenant_id = (SELECT granted_tenant()) AND run_id = (SELECT granted_writes())
    AND (user_id IS NULL OR (SELECT granted_vouches()) OR is_introduced(tenant_id, agent, user_id)));
CREATE POLICY changeable ON conversations FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant())
           AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())))
    WITH CHECK (tenant_id = (SELECT granted_tenant())
                AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())));

-- Introductions open to their agent and their user, who also decides on them, and to the tenant's owner.
CREATE POLICY readable ON introductions FOR SELECT TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR run_id IN (SELECT granted_run_ids()) OR 'introduced:' || agent IN (SELECT granted_run_ids())));
CREATE POLICY makeable ON introductions FOR INSERT TO keepword_app WITH CHECK (
    tenant_id = (SELECT granted_tenant()) AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())));
CREATE POLICY changeable ON introductions FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant())
           AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())))
    WITH CHECK (tenant_id = (SELECT granted_tenant())
                AND ((SELECT granted_everything()) OR run_id = (SELECT granted_writes())));

-- Facts: read as content is, those about a user by the rule of profile lines; changed where the grant lets share, and
-- by the owner, who alone changes what the owner wrote.
-- each {"table": ["facts", "fact_versions"]}
CREATE POLICY readable ON {table} FOR SELECT TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR ((run_id = (SELECT granted_first_run()) OR run_id IN (SELECT granted_run_ids()))
             AND visibility = ANY ((SELECT granted_visibilities())::text[])
             AND (said_in = '{}' OR opens_fact_origins(
                 tenant_id, scope_id, said_in, (SELECT granted_profiles_of()), (SELECT granted_lines_in()),
                 (SELECT granted_lines_of_theirs()), (SELECT granted_lines_to()))))));
-- end
CREATE POLICY shareable ON facts FOR INSERT TO keepword_app WITH CHECK (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares())));
CREATE POLICY changeable ON facts FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant())
           AND ((SELECT granted_everything())
                OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares()))
           AND (NOT by_owner OR (SELECT granted_owner())))
    WITH CHECK (tenant_id = (SELECT granted_tenant())
                AND ((SELECT granted_everything())
                     OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares())));
CREATE POLICY deletable ON facts FOR DELETE TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares()))
    AND (NOT by_owner OR (SELECT granted_owner())));

-- Files: written where the grant lets share, and by the owner.
CREATE POLICY shareable ON file_versions FOR INSERT TO keepword_app WITH CHECK (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares())));
CREATE POLICY changeable ON file_versions FOR UPDATE TO keepword_app
    USING (tenant_id = (SELECT granted_tenant())
           AND ((SELECT granted_everything())
                OR run_id = (SELECT granted_writes()) OR run_id IN (SELECT granted_shares())))
    WITH CHECK (tenant_id = (SELECT granted_tenant()));
-- what was erased: by the owner alone
CREATE POLICY redactable ON file_versions AS RESTRICTIVE FOR UPDATE TO keepword_app USING (true)
    WITH CHECK (redacted_at IS NULL OR (SELECT granted_everything()));

-- A profile's line that repeats a memory is read as that memory.
CREATE POLICY readable ON profile_texts FOR SELECT TO keepword_app USING (
    tenant_id = (SELECT granted_tenant())
    AND ((SELECT granted_everything())
         OR (memory_ids = '{}' AND run_id IN (SELECT granted_run_ids())
             AND visibility = ANY ((SELECT granted_visibilities())::text[]))));

-- What only the tenant's owner reads.
-- each {"table": ["profile_versions", "audit", "history_imports", "webhook_deliveries"]}
CREATE POLICY readable ON {table} FOR SELECT TO keepword_app
    USING (tenant_id = (SELECT granted_tenant()) AND (SELECT granted_everything()));
-- end
