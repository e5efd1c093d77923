"""Cutting texts: nothing is lost, nothing is too long."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword.embedding.chunk import split
from keepword.embedding.onnx import LocalEmbedder

_pauses = st.sampled_from([" ", "\n", "\n\n", "\n\n\n", ". ", "! ", "? ", "; ", "\u3002", "\t"])
_words = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=30)
texts = st.lists(st.tuples(_words, _pauses), max_size=60).map(lambda pairs: "".join(map("".join, pairs)))


def signs(text):
    return re.sub(r"\s", "", text)


@given(texts, st.integers(1, 40))
def test_parts_are_within_the_limit_and_hold_every_sign_in_order(text, limit):
    parts = split(text, limit)
    assert all(len(part) <= limit for part in parts)
    assert signs("".join(parts)) == signs(text)


@given(texts, st.integers(30, 60))
def test_words_that_fit_are_kept_whole(text, limit):
    kept = [word for part in split(text, limit) for word in part.split()]
    for word in text.split():
        if len(word) <= limit and not re.search("[\u3002\uff01\uff1f\uff1b]", word):
            assert word in kept


@settings(deadline=None, max_examples=50)
@given(texts, st.integers(8, 40))
def test_counted_in_tokens_too(text, limit):
    count = LocalEmbedder().count_tokens
    parts = split(text, limit, count)
    assert signs("".join(parts)) == signs(text)
    assert all(count(part) <= limit or len(part) == 1 for part in parts)


@pytest.mark.parametrize("limit", [16, 126, 254])
def test_a_long_text_takes_about_as_few_parts_as_it_could(limit):
    count = LocalEmbedder().count_tokens
    text = "\n\n".join(["The harbour opens at nine. It closes when the last boat is in; nobody waits."] * 200)
    assert len(split(text, limit, count)) <= 2 * count(text) / limit + 1


def test_a_short_text_is_one_part_as_it_is():
    assert split("One. Two.\n\nThree", 100) == ["One. Two.\n\nThree"]
