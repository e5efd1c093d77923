"""The binary format of entries: what SQL packs, Python reads, for each kind and each column."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import numpy as np

from keepword.embedding import TextIndexer
from keepword.embedding import entry_format as fmt
from keepword.postgres import migrate

AT = datetime(2026, 4, 18, 9, 30, tzinfo=UTC)
INSERT = """
INSERT INTO entries (tenant_id, kind, source_id, run_id, visibility, conversation_id, seq, role, user_id, agent,
    created_at, searchable, words, pieces, lexemes, instant)
VALUES (%s, %s, %s, 'session:talk', 'public', %s, %s, 'user', %s, 'ada', %s, true, %s, %s, '{}', %s)
"""
PACK = """
SELECT * FROM pack_entries_of_tenant(
    ROW(%s, true, '{}', '{}', NULL)::scope, ROW(%s, NULL, NULL, NULL, NULL)::search_filter, %s::public.halfvec,
    'ann', ARRAY['eva'], NULL)
"""
CHANGED = "SELECT * FROM pack_changed_of_tenant(ROW(%s, true, '{}', '{}', NULL)::scope, NULL, NULL)"
SHARES = "SELECT length_share(words) FROM unnest(%s::int[]) AS w (words)"


def read(packed, kind):
    return np.frombuffer(packed or b"", kind)


def test_both_read_the_same_numbers(conninfo, make_tenant):
    tenant, conversation = make_tenant().id, uuid4()
    features = TextIndexer().read("The harbour pilot came aboard at noon.")
    words, pieces = features.words.astype(fmt.WORD).tobytes(), features.pieces.astype(fmt.PIECE).tobytes()
    vector = str(features.vector.astype(np.float16).tolist())
    with migrate.owner(conninfo) as conn:
        for number, kind in enumerate(fmt.KINDS):
            at, user = AT + timedelta(days=number), "ann" if number % 2 else "Eva.Schmidt"
            row = (tenant, kind, uuid4(), conversation, number + 1, user, at, words, pieces, vector)
            conn.execute(INSERT, row)
        packed = conn.execute(PACK, (tenant, ["message", "memory"], vector)).fetchone()
        changed = conn.execute(CHANGED, (tenant,)).fetchone()
        shares = conn.execute(SHARES, ([1, 20, 100, 180],)).fetchall()
    ids, talks, seqs, flags, times, all_words, word_counts, all_pieces, piece_counts, nearness = packed
    order = np.argsort(read(ids, fmt.ID))
    flags = read(flags, fmt.FLAGS)[order]
    assert [fmt.KINDS[place] for place in flags % fmt.NAMED // fmt.KIND] == list(fmt.KINDS)
    assert {chr(role) for role in flags & fmt.ROLE_MASK} == {"u"}
    assert [bool(flag & fmt.FITS) for flag in flags] == [True, False, True, False]
    assert [bool(flag & fmt.MINE) for flag in flags] == [False, True, False, True]
    assert [bool(flag & fmt.NAMED) for flag in flags] == [True, False, True, False]
    assert UUID(bytes=talks[:16]) == conversation
    assert sorted(read(seqs, fmt.ID)) == [1, 2, 3, 4]
    days = (read(times, fmt.ID)[order].astype("timedelta64[us]") + fmt.EPOCH).astype("datetime64[D]")
    assert [str(day) for day in days] == ["2026-04-18", "2026-04-19", "2026-04-20", "2026-04-21"]
    assert read(word_counts, fmt.COUNT).tolist() == [len(features.words)] * 4
    assert read(piece_counts, fmt.COUNT).tolist() == [len(features.pieces)] * 4
    assert (all_words, all_pieces) == (words * 4, pieces * 4)
    assert np.allclose(read(nearness, fmt.NEARNESS), 1, atol=0.01)
    vectors = read(changed[9], fmt.COMPONENT).reshape(-1, fmt.INSTANT_DIMENSIONS)
    assert np.allclose(vectors, features.vector, atol=0.001)
    expected = [1 / (1 + max(words - fmt.SHORT_WORDS, 0) / fmt.LENGTH_WORDS) for words in (1, 20, 100, 180)]
    assert np.allclose([float(share) for (share,) in shares], expected)
    (check,) = _kinds_of_the_table(conninfo)
    assert all(f"'{kind}'" in check for kind in fmt.KINDS)
    assert check.count("'::text") == len(fmt.KINDS)


def _kinds_of_the_table(conninfo):
    query = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = 'entries'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%landmark%'
    """
    with migrate.owner(conninfo) as conn:
        return conn.execute(query).fetchone()
