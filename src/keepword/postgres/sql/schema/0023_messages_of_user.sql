-- What a user said, in all conversations: an erasure counts it and finds where it was without reading all messages.
CREATE INDEX messages_of_user ON messages (tenant_id, user_id, conversation_id) WHERE user_id IS NOT NULL;
