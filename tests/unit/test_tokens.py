"""Counting is exact, whatever the text, and as often as one asks."""

import subprocess
import sys

import bpe_openai
from hypothesis import given, settings
from hypothesis import strategies as st

from keepword import tokens

ENCODING = bpe_openai.get_encoding("o200k_base")


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=300))
def test_a_count_is_that_of_the_public_encoder(text):
    assert tokens.count(text) == len(ENCODING.encode_ordinary(text))


def test_long_texts_are_counted_as_exactly_as_lines():
    for words in (10, 500, 4_000):
        text = "the tent is in the car " * words
        assert tokens.count(text) == tokens.count(text) == len(ENCODING.encode_ordinary(text))


def test_half_of_a_surrogate_pair_is_counted_and_not_refused():
    assert tokens.count("a\ud800b") == tokens.count("a\ufffdb")


def test_counting_does_not_load_the_tables_of_the_public_encoder():
    loaded = "from keepword import tokens; tokens.count('one'); import sys; print('bpe_openai' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).split() == ["False"]
