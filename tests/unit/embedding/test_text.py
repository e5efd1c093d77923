"""What of a message is indexed."""

from keepword.embedding.text_indexer import PART_CHARS, message_parts


def test_the_speaker_and_all_that_was_said_are_in_it():
    assert message_parts("ada", "Hello.", None, None, None) == ["ada: Hello."]
    assert message_parts(None, "Hello.", None, None, None) == ["Hello."]
    assert message_parts("bot", "", "search", {"q": "é"}, "found") == ['bot: search\n{"q": "é"}\nfound']


def test_what_nobody_could_search_for_is_left_out_whoever_said_it():
    assert message_parts("ada", "QUJD" * 100, None, None, None) == []
    assert message_parts("ada", "\x00\x01\x02\x03a", None, None, None) == []
    assert message_parts("ada", "?!", None, None, None) == []
    assert message_parts("ada", "", None, None, None) == []
    assert message_parts("ada", "see " + "QUJD" * 100 + " there", None, None, None) == ["ada: see   there"]


def test_a_long_text_is_cut_into_parts():
    parts = message_parts("ada", "A sentence of some length. " * 1000, None, None, None)
    assert len(parts) > 2
    assert all(len(part) <= PART_CHARS for part in parts)
