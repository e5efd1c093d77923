-- name: adds
SELECT message_id, external_id, said_at, is_read, memory_ids FROM find_mem0_adds(%(grant)s, %(tenant_id)s, %(ids)s::uuid[])
