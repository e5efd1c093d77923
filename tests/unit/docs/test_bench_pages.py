"""The benchmarks' own page and plots: what a command writes must not touch what another wrote."""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

sys.path.append(str(Path(__file__).parents[3] / "bench"))

import _page
import _plot


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(_page, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(_page, "PLOTS", tmp_path / "plots")
    return tmp_path / "benchmarks.md"


def test_a_section_is_replaced_and_the_others_stay(page):
    _page.put("peers", "first")
    _page.put("growth", "other")
    _page.put("peers", "second")
    text = page.read_text()
    assert "first" not in text
    assert "<!-- peers -->\nsecond\n<!-- /peers -->\n\n<!-- growth -->\nother\n<!-- /growth -->" in text


def test_a_section_is_added_to_a_page_that_somebody_wrote(page):
    page.write_text("# Ours\n\nSome words.\n")
    _page.put("peers", "new")
    assert page.read_text() == "# Ours\n\nSome words.\n\n<!-- peers -->\nnew\n<!-- /peers -->\n"


def test_bars_show_every_value_and_escape_names():
    drawn = ET.fromstring(_plot.bars("a < b", [("one & two", [1.5]), ("failed", [None])], [""]))
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["a < b", "one & two", "1.5", "failed", "-"]


def test_longer_bars_are_larger_values_on_a_logarithmic_scale_too():
    drawn = ET.fromstring(_plot.bars("", [("a", [1.0]), ("b", [10.0]), ("c", [100.0])], [""], is_log=True))
    widths = [float(each.get("width")) for each in drawn.iter("{http://www.w3.org/2000/svg}rect") if each.get("x")]
    assert widths == sorted(widths)
    assert 0 < widths[0] < widths[2]


def test_a_curve_has_a_point_for_every_measurement():
    drawn = ET.fromstring(_plot.curves("t", "x", "y", {"s": [(1e4, 2.0), (1e5, 3.0), (1e6, 40.0)]}))
    spots = list(drawn.iter("{http://www.w3.org/2000/svg}circle"))
    heights = [float(spot.get("cy")) for spot in spots]
    assert len(spots) == 3
    assert heights == sorted(heights, reverse=True)
