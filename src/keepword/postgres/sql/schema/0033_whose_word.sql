-- Whose word something is: facts that the tenant's owner wrote, and messages that a key appended which does not vouch for
-- the user who is said to have written them.

-- Of the facts so far the owner is known where only the owner writes, and of users where one was set in no conversation.
ALTER TABLE facts ADD by_owner boolean NOT NULL DEFAULT false;
-- whoever wrote a fact, it is no new version
ALTER TABLE facts DISABLE TRIGGER USER;
UPDATE facts SET by_owner = true
WHERE scope_kind = 'global' OR (scope_kind = 'user' AND said_in = '{}');
ALTER TABLE facts ENABLE TRIGGER USER;

-- What was said so far counts as vouched for; from now on only what is appended by a key that does.
ALTER TABLE messages ADD vouched boolean NOT NULL DEFAULT true;
ALTER TABLE messages ALTER vouched SET DEFAULT false;

-- A memory is vouched for if all the messages that it was found in are, or whoever told it does.
ALTER TABLE memories ADD vouched boolean NOT NULL DEFAULT true;
