"""What a fact may hold, and that its text is taken out of a body as it is written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.errors import InvalidInput, TooLarge
from keepword.facts import MAX_VALUE_BYTES, FactSubject
from keepword.facts.operations import check_type, check_value, type_of
from keepword.facts.text import items, members

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
layouts = st.sampled_from([{}, {"indent": 2}, {"ensure_ascii": False}, {"separators": (" ,\t", " :\r\n")}])


@given(st.dictionaries(texts, values, max_size=5), layouts, st.sampled_from(["", " ", "\n\t "]))
def test_members_are_found_as_they_are_written(document, layout, blanks):
    text = blanks + json.dumps(document, **layout) + blanks
    found = members(text)
    assert {name: json.loads(part) for name, part in found.items()} == document
    assert all(part in text and part == part.strip() for part in found.values())


@given(st.lists(values, max_size=5), layouts)
def test_items_are_found_as_they_are_written(document, layout):
    assert [json.loads(part) for part in items(json.dumps(document, **layout))] == document


@pytest.mark.parametrize("number", ["1.10", "1E+2", "-0", "0.1000000000000000055", "1e400", "9" * 5000, "-0.0e-0"])
def test_numbers_keep_their_digits(number):
    assert members(f'{{"a":[1], "value": {number} }}')["value"] == number
    assert list(items(f"[{number},{number}]")) == [number, number]
    check_value(number)


def test_the_last_of_a_name_counts():
    assert members('{"value":1,"value":{"value":2}}') == {"value": '{"value":2}'}


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ('"1"', "string"), ("1", "integer"), ("-" + "9" * 5000, "integer"), ("1.0", "number"), ("1e3", "number"),
        ("true", "boolean"), ("{}", "object"), ("[]", "array"), ("null", "null"),
    ],
)  # fmt: skip
def test_a_value_is_of_one_type_and_a_number_may_be_an_integer(text, type_):
    assert type_of(text) == type_
    for declared in ("string", "number", "integer", "boolean", "object", "array"):
        if declared == type_ or (declared, type_) == ("number", "integer"):
            check_type(text, declared)
        else:
            with pytest.raises(InvalidInput, match=declared):
                check_type(text, declared)
    check_type(text, None)


def test_64_kib_fit_and_one_byte_more_does_not():
    fitting = json.dumps("é" * ((MAX_VALUE_BYTES - 2) // 2), ensure_ascii=False)
    assert len(fitting.encode()) == MAX_VALUE_BYTES
    check_value(fitting)
    with pytest.raises(TooLarge, match="65537"):
        check_value(fitting + " ")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}', "", "{", "'a'"])
def test_what_is_not_json_is_no_value(text):
    with pytest.raises(InvalidInput):
        check_value(text)


def test_each_scope_has_a_label_of_its_own():
    scopes = [
        FactSubject.named("user", "x"),
        FactSubject.named("project", "x"),
        FactSubject.named("room", "x"),
        FactSubject.named("global", "-"),
    ]
    assert [scope.run_id for scope in scopes] == ["profile:x", "project:x", "room:x", "global"]
    assert len({str(scope) for scope in scopes}) == 4


@pytest.mark.parametrize(
    ("kind", "written"), [("global", "x"), ("global", "global"), ("user", "a/b"), ("room", "a\nb")]
)
def test_a_scope_that_is_none_is_refused(kind, written):
    with pytest.raises(InvalidInput) as refused:
        FactSubject.named(kind, written)
    assert refused.value.field == "scope_id"
