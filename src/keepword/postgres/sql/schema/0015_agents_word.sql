-- Whose word a memory is: a person's, or an agent's, which is nobody's in particular.

ALTER TABLE memories ADD COLUMN said_by text NOT NULL DEFAULT 'user' CHECK (said_by IN ('user', 'agent'));
ALTER TABLE memories ADD CHECK (said_by = 'user' OR user_id IS NULL);
