"""The page of compatibility keeps each suite's section, and a run replaces its own alone."""

import pytest

from compat.page import PAGE, Outcome, Suite, write

BETA = Suite("beta", "Beta's tests", "2.0", "Run as they are.")
ALPHA = Suite("alpha", "Alpha's client", "1.4", "Every method once.")


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "compat.md"
    path.write_text("# Compatibility\n\nText.\n\n")
    return path


def test_sections_stand_in_the_order_of_their_ids_and_tell_what_was_left_out(page):
    write(Outcome(BETA, 9, 9, {"test_cursor": "reaches | into their tables"}), page)
    write(Outcome(ALPHA, 12, 11), page)
    text = page.read_text()
    assert text.startswith("# Compatibility\n\nText.\n\n<!-- suite: alpha -->\n## Alpha's client\n")
    assert "| Alpha's client | 1.4 | 12 | 11 | 0 |\n\n<!-- suite: beta -->\n" in text
    assert "| Beta's tests | 2.0 | 9 | 9 | 1 |" in text
    assert r"| test_cursor | reaches \| into their tables |" in text


def test_a_run_replaces_its_own_section_and_no_other(page):
    write(Outcome(BETA, 9, 9), page)
    write(Outcome(ALPHA, 12, 11), page)
    before = page.read_text()
    write(Outcome(ALPHA, 12, 11), page)
    assert page.read_text() == before
    write(Outcome(ALPHA, 13, 13), page)
    assert page.read_text() == before.replace("| 12 | 11 |", "| 13 | 13 |")


def test_the_page_of_the_documentation_can_be_read_and_written_again(tmp_path):
    copy = tmp_path / "compat.md"
    copy.write_text(PAGE.read_text())
    write(Outcome(Suite("zz-none", "None", "0", "Not run."), 1, 1), copy)
    assert copy.read_text().startswith(PAGE.read_text())
