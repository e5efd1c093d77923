"""Filters and names that can't be are refused with what is wrong."""

import pytest

from keepword.errors import InvalidInput, TooLarge
from keepword.items.filters import MAX_CONDITIONS, read_filter
from keepword.items.namespaces import check_key, check_labels, check_new_namespace, labels_of, path_end


def test_plain_equality_is_told_from_other_conditions():
    read = read_filter({"a": 1, "b": "x", "c": True, "d": None, "e": [1], "f": {"$gt": 2}, "g.h": 3, "i": {}})
    assert read.equal == {"a": 1, "b": "x", "c": True}
    assert read.rest == {"d": None, "e": [1], "f": {"$gt": 2}, "g.h": 3, "i": {}}
    assert read_filter(None) == read_filter({})


@pytest.mark.parametrize("wanted", [{"a": {"$like": "x"}}, {"a": {"$gt": 1, "b": 2}}, {"a": {"b": {"$regex": "("}}}])
def test_an_unknown_operator_is_refused(wanted):
    with pytest.raises(InvalidInput, match=r"among operators; there are: \$eq"):
        read_filter(wanted)


def test_a_name_with_a_dollar_sign_is_a_member_of_the_value():
    assert read_filter({"$eq": 1}).equal == {"$eq": 1}


def test_a_filter_is_bounded():
    deep = {}
    for _ in range(40):
        deep = {"a": deep}
    with pytest.raises(InvalidInput, match="nested deeper"):
        read_filter(deep)
    with pytest.raises(TooLarge, match=f"over {MAX_CONDITIONS} conditions"):
        read_filter({str(n): n for n in range(MAX_CONDITIONS + 1)})


@pytest.mark.parametrize("labels", [("a.b",), ("",), ("a", ""), ("a\0",), ("x" * 800,), ("ü" * 400,), ("a",) * 33])
def test_labels_that_can_not_be_are_refused(labels):
    with pytest.raises(InvalidInput, match="namespace"):
        check_labels(labels, "namespace")


def test_a_new_item_needs_a_namespace_of_its_own():
    for labels in ((), ("langgraph", "a")):
        with pytest.raises(InvalidInput):
            check_new_namespace(labels)
    assert check_new_namespace(("a", "langgraph")) == "a.langgraph."


@pytest.mark.parametrize("key", ["", "a\0b", "k" * 513, "漢" * 171])
def test_keys_that_can_not_be_are_refused(key):
    with pytest.raises(InvalidInput, match="key"):
        check_key(key)


def test_a_path_and_what_begins_with_it_are_one_range_of_bytes():
    path = check_labels(("foo", "a b\n"), "namespace")
    assert labels_of(path) == ("foo", "a b\n")
    inside = [
        check_labels(labels, "n") for labels in (("foo",), ("foo", "bar"), ("foo", "\x01"), ("foo", "\U0010ffff"))
    ]
    outside = [check_labels(labels, "n") for labels in (("foobar",), ("foo-x",), ("fo",), ("foo/x",))]
    begin, end = (text.encode() for text in ("foo.", path_end("foo.")))
    assert all(begin <= one.encode() < end for one in inside)
    assert not any(begin <= one.encode() < end for one in outside)
    assert all(one.encode() < path_end("").encode() for one in inside + outside)
