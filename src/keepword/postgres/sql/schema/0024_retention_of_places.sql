-- How long a place keeps its messages: a conversation's own days, else those of its room, else those of the tenant.
ALTER TABLE rooms ADD retention_days integer CHECK (retention_days BETWEEN 1 AND 36500);
ALTER TABLE conversations ADD retention_days integer CHECK (retention_days BETWEEN 1 AND 36500);
CREATE INDEX rooms_that_forget ON rooms (tenant_id, id) WHERE retention_days IS NOT NULL;
CREATE INDEX conversations_that_forget ON conversations (tenant_id, id) WHERE retention_days IS NOT NULL;
CREATE INDEX conversations_by_room ON conversations (tenant_id, room_id) WHERE room_id IS NOT NULL;

-- set by a function for the tenant's owner, and by nobody else
REVOKE UPDATE ON rooms FROM keepword_app;
GRANT UPDATE (name, project_id) ON rooms TO keepword_app;
