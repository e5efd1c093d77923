"""What of a program's output goes into an error."""

from keepword.postgres.embedded.programs import MAX_CHARACTERS, shorten


def test_the_end_is_kept_in_one_line():
    lines = [f"line {number}" for number in range(100)]
    said = shorten("\n".join([*lines, "", "initdb: error: no space left"]))
    assert said.endswith("line 99 / initdb: error: no space left")
    assert "line 50" not in said
    assert len(shorten("x" * 10_000)) == MAX_CHARACTERS


def test_statements_are_left_out_with_all_their_lines():
    said = shorten(
        "ERROR:  out of memory\n[7] STATEMENT:  INSERT INTO messages\n\tVALUES ('my salary')\nFATAL:  gone\n"
    )
    assert said == "ERROR:  out of memory / FATAL:  gone"


def test_silence_is_called_so():
    assert shorten("\n \n") == "it said nothing"
