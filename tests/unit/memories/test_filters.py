"""Filters of memories are checked before anything is compared, and written as data alone."""

from datetime import UTC, datetime

import pytest

from keepword.errors import InvalidInput
from keepword.memories.filters import FIELDS, MAX_DEPTH, MAX_LEAVES, write_filter

VALID = {"op": "in", "field": "state", "values": ["valid"]}


def written(tree):
    return write_filter(tree, lambda text: datetime(2024, 1, 31, tzinfo=UTC) if text == "2024-01-31" else None)


def equal(field, value):
    return {"field": field, "op": "in", "values": [value]}


def test_fields_beside_each_other_must_all_match_and_only_what_is_valid_is_meant():
    tree = {"user": "ann", "category": {"in": ["a", "b"]}}
    both = [equal("user", "ann"), {"field": "category", "op": "in", "values": ["a", "b"]}]
    assert written(tree) == {"op": "and", "of": [VALID, {"op": "and", "of": both}]}
    assert written({}) == {"op": "and", "of": [VALID, {"op": "and", "of": []}]}


def test_a_filter_that_names_a_state_is_not_kept_to_what_is_valid():
    tree = {"OR": [{"state": "deleted"}, {"NOT": {"state": {"ne": "expired"}}}]}
    expired = {"op": "not", "of": [{"op": "not", "of": [equal("state", "expired")]}]}
    assert written(tree) == {"op": "or", "of": [equal("state", "deleted"), expired]}


def test_metadata_times_and_absence_are_written_out():
    tree = {
        "state": "valid", "said_at": {"gte": "2024-01-31"}, "metadata": {"n": {"gt": 3, "lt": 9}, "k": None},
        "expires_at": {"exists": False},
    }  # fmt: skip
    assert written(tree)["of"][1:] == [
        {"field": "said_at", "op": "gte", "values": ["2024-01-31T00:00:00+00:00"]},
        {"field": "metadata", "key": "n", "op": "gt", "values": [3]},
        {"field": "metadata", "key": "n", "op": "lt", "values": [9]},
        {"field": "metadata", "key": "k", "op": "in", "values": [None]},
        {"op": "not", "of": [{"field": "expires_at", "op": "exists", "values": []}]},
    ]


@pytest.mark.parametrize(
    ("tree", "path", "said"),
    [
        ({"user_id": "ann"}, "filters.user_id", ", ".join(FIELDS)),
        ({"AND": [{"user": "ann"}, {"x": 1}]}, "filters.AND.1.x", "no field"),
        ({"AND": []}, "filters.AND", "not empty"),
        ({"OR": "user"}, "filters.OR", "list"),
        ({"AND": ["user"]}, "filters.AND.0", "object"),
        ({"user": 3}, "filters.user.eq", "text"),
        ({"user": {"gt": "a"}}, "filters.user.gt", "eq, ne, in, exists"),
        ({"user": {}}, "filters.user", "compares with nothing"),
        ({"user": {"in": []}}, "filters.user.in", "1 to 100"),
        ({"user": {"exists": "yes"}}, "filters.user.exists", "true or false"),
        ({"type": "rumour"}, "filters.type.eq", "preference"),
        ({"said_at": "yesterday"}, "filters.said_at.eq", "2024-01-31T12:00:00Z"),
        ({"importance": {"gt": True}}, "filters.importance.gt", "number"),
        ({"metadata": "x"}, "filters.metadata", "object of keys"),
        ({"metadata": {"k" * 201: 1}}, "filters.metadata", "at most 200"),
        ({"metadata": {"k": {"lt": None}}}, "filters.metadata.k.lt", "number or a text"),
        ({"OR": [{"user": str(n)} for n in range(MAX_LEAVES + 1)]}, f"filters.OR.{MAX_LEAVES}.user", "more than 100"),
    ],
)
def test_what_is_wrong_is_named_with_what_there_is(tree, path, said):
    with pytest.raises(InvalidInput) as refused:
        written(tree)
    assert refused.value.field == path
    assert said in str(refused.value)


def test_a_tree_has_a_bounded_depth():
    tree = {"user": "ann"}
    for _ in range(MAX_DEPTH):
        tree = {"NOT": tree}
    with pytest.raises(InvalidInput, match="deeper than 8"):
        written(tree)
