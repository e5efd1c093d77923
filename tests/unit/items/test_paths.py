"""What of a value is searched, by the paths that LangGraph writes."""

import pytest

from keepword.items.paths import MAX_TEXT_CHARS, MAX_TEXTS, texts_at, texts_of

VALUE = {
    "name": "Ann",
    "info": {"age": 25, "tags": ["a", "b"], "made": {"at": "May", "by": "Bob"}},
    "items": [{"id": 1, "text": "first"}, {"id": 2, "text": "second"}, {"id": 3, "text": "third"}],
    "none": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("name", ["Ann"]),
        ("info.age", ["25"]),
        ("info.made.at", ["May"]),
        ("items[0].text", ["first"]),
        ("items[-1].text", ["third"]),
        ("info.tags[1]", ["b"]),
        ("items[*].text", ["first", "second", "third"]),
        ("info.made.*", ["May", "Bob"]),
        ("{name,info.age}", ["Ann", "25"]),
        ("items[*].{id,text}", ["1", "first", "2", "second", "3", "third"]),
        ("info.made", ["at: May\nby: Bob"]),
        ("none", []),
        ("absent.deeper", []),
        ("items[99].text", []),
        ("items[].text", []),
        ("items[abc].text", []),
        ("items[--1].text", []),
        ("items[" + "9" * 150 + "]", []),
        ("name.first", []),
        ("{unclosed", []),
    ],
)
def test_a_path_names_texts(path, texts):
    assert list(texts_at(VALUE, path)) == texts


def test_the_whole_value_is_a_line_for_each_thing_with_its_name():
    value = {"likes": {"drink": "tea", "not": ["coffee", 7]}, "is": True, "nothing": None}
    whole = ["drink: tea\nnot: coffee\nnot: 7\nis: true"]
    assert texts_of(value, None) == texts_of(value, ["$"]) == texts_of(value, [""]) == whole


def test_nothing_is_searched_of_a_value_without_paths_or_texts():
    assert texts_of(VALUE, []) == texts_of(VALUE, ["none", "absent"]) == texts_of({}, None) == []


def test_of_a_large_value_the_beginning_is_searched():
    assert len(texts_of({"many": [str(n) for n in range(10_000)]}, ["many[*]"])) == MAX_TEXTS
    assert sum(map(len, texts_of({"a": "x" * 400_000, "b": "y"}, ["a", "b"]))) == MAX_TEXT_CHARS
