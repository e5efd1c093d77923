"""Which sentences only greet, and that it takes no longer to tell the longer they are."""

import time

import pytest

from keepword.compaction.sentence_kinds import is_small_talk

MAX_SECONDS = 0.0005
MAX_CHARS = 120


@pytest.mark.parametrize(
    "text",
    [
        "Hi Bob! Good morning!", "Thanks, Bob!", "Thank you so much, Lena.", "No, no problem", "Good, great to see you",
        "Ok, " * 20, "Hey Anne-Marie, how are you today?",
    ],
)  # fmt: skip
def test_what_only_greets_is_small_talk(text):
    assert is_small_talk(text)


@pytest.mark.parametrize("text", ["Good morning, the pump hums.", "Ok x1", "Thanks, Bob Smith is here.", "Bob!"])
def test_what_says_something_is_none(text):
    assert not is_small_talk(text)


@pytest.mark.parametrize("part", ["Ok, ", "Good morning, ", "Good, good morning ", "Thank you Ok! ", "Hi Bob, ", "No "])
def test_words_that_can_be_read_in_two_ways_take_no_longer_than_others(part):
    for count in range(1, MAX_CHARS // len(part)):
        text = part * count + "x1"
        assert min(_seconds(text) for _ in range(5)) < MAX_SECONDS, text


def _seconds(text):
    began = time.thread_time()
    is_small_talk(text)
    return time.thread_time() - began
