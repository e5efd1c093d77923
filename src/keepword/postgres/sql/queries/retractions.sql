-- name: retract
SELECT outcome, message, retracted_at, revived FROM retract_message(
    %(grant)s, %(tenant_id)s, %(conversation_id)s, %(seq)s, %(user)s, %(agent)s, %(by)s, %(reason)s)

-- name: restore
SELECT restore_message(%(grant)s, %(tenant_id)s, %(conversation_id)s, %(seq)s, %(user)s, %(agent)s)

-- name: index_revived
SELECT index_revived(
    %(grant)s, %(tenant_id)s, %(ids)s::uuid[], %(words)s::bytea[], %(pieces)s::bytea[], %(lexemes)s::text[], %(instants)s)
