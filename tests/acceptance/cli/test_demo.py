"""keepword demo: it tells the story, keeps what must be kept, and leaves nothing behind."""

import re


def test_the_story_shows_what_is_seen_and_withheld_and_cleans_up(cli, make_home, monkeypatch):
    folder = make_home()
    folder.mkdir(mode=0o711)
    monkeypatch.setenv("TMPDIR", str(folder))
    home = make_home()
    done = cli(home, "demo", database_url="postgresql://127.0.0.1:1/must-not-be-used", llm_url="http://127.0.0.1:1/v1")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert list(folder.glob("keepword*")) == []
    assert not home.exists()
    assert "\x1b" not in done.stdout
    told, *scenes = re.split(r"^(?:Tom|Mira) asks in ", done.stdout, flags=re.MULTILINE)
    assert "The flour delivery is on 11 June.\n      fact" in told
    assert "✗ The flour delivery is on 9 June.\n      true until today" in told
    room, direct, session, isolated = (scene.split("WITHHELD") for scene in scenes)
    assert "Lisbon" not in room[0]
    assert "dm:mira:aide" in room[1]
    assert "pinned decision" in room[0]
    assert "Lisbon" in direct[0]
    # what was said in a room in which both of them sit is read, never the reverse
    assert "room:counter #" in direct[0]
    assert "pinned decision" in direct[0]
    assert "said in a session" in direct[1]
    assert "Z-5581" in session[0]
    assert "found by words" in session[0]
    assert "K-2207" not in session[0]
    assert "K-2207" in isolated[0]
    assert not re.search("Zanolli|12 June|Lisbon|Z-5581", isolated[0])
    assert isolated[1].count("nothing from outside comes into an isolated project") == 3
