"""Every path has one name, begins with /memories, and none leads out of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.errors import InvalidInput
from keepword.files.paths import MAX_PATH_BYTES, ROOT, check_path, is_inside


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/memories", "/memories"),
        ("/memories/", "/memories"),
        ("/memories/.", "/memories"),
        ("/memories/sub/..", "/memories"),
        ("/memories//a///b.md", "/memories/a/b.md"),
        ("/memories/a/../b.md/", "/memories/b.md"),
        ("/memories/.hidden/x", "/memories/.hidden/x"),
        ("/memories/Zoe\u0308.md", "/memories/Zo\u00eb.md"),
        ("/memories/50% off.md", "/memories/50% off.md"),
        ("/memories/...", "/memories/..."),
        ("/memories/漢字/🙂.md", "/memories/漢字/🙂.md"),
    ],
)
def test_a_path_has_one_name(path, name):
    assert check_path(path) == name


@pytest.mark.parametrize(
    "path",
    [
        "/memories/..", "/memories/../etc/passwd", "/memories/a/../../b", "/memories/%2e%2e/b", "/memories/%2E./b",
        "/memories/a/%252e%252e/b", "/memories/..%2f..%2fetc", "/memories/..%5cb",
    ],
)  # fmt: skip
def test_a_way_out_is_refused_plain_or_encoded(path):
    with pytest.raises(InvalidInput, match="would escape /memories directory"):
        check_path(path)


@pytest.mark.parametrize("path", ["", "memories/a", "/memoriesandmore", "/etc", "/", "\0", "/Memories/a", " /memories"])
def test_a_path_elsewhere_is_refused(path):
    with pytest.raises(InvalidInput, match="Path must start with /memories"):
        check_path(path)


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "a\x1b[2J", "\ufffd", "a\\b", "\u202eb", "x" * 256, "ż" * 128])
def test_a_name_that_is_no_text_or_too_long_is_refused(name):
    with pytest.raises(InvalidInput):
        check_path(f"/memories/{name}")


def test_deep_and_long_paths_are_refused():
    for path in ("/memories" + "/a" * 21, "/memories" + f"/{'x' * 200}" * 6):
        with pytest.raises(InvalidInput, match="too long"):
            check_path(path)


@given(st.lists(st.text(max_size=8) | st.sampled_from(["..", ".", "%2e%2e", "\\", "a"]), max_size=8))
def test_whatever_is_accepted_is_inside_and_its_own_name(segments):
    try:
        name = check_path("/".join([ROOT, *segments]))
    except InvalidInput:
        return
    assert is_inside(name, ROOT)
    assert not {"", ".", ".."} & set(name.split("/")[1:])
    assert len(name.encode()) <= MAX_PATH_BYTES
    assert check_path(name) == name
