import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepword.compaction.toolcalls import MAX_WORDS, TEMPLATE, describe, synthesize
from keepword.errors import ModelAway
from keepword.llm.port import Answer

pytestmark = pytest.mark.anyio


class Parrot:
    """A model that says the same each time."""

    name = "parrot"
    context_tokens = 8000

    def __init__(self, says):
        self.says = says

    async def ask(self, prompt):
        assert prompt.text.startswith("tool: read_file")
        if isinstance(self.says, Exception):
            raise self.says
        return Answer(self.says, self.name)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("read_file", {"path": "src/main.py"}, "Read file (read_file) with path src/main.py."),
        ("searchFlights", {"from": "ZRH", "max": 3}, "Searched flights (searchFlights) with from ZRH, max 3."),
        ("list_all", None, "Listed all (list_all)."),
        ("applyPatch", {}, "Applied patch (applyPatch)."),
        ("stop", [], "Stopped (stop)."),
        ("bash", {"command": "ls -la\n  | wc"}, "Called bash with command ls -la | wc."),
        ("get", "everything", "Got (get) with everything."),
        ("x9", {"nested": {"a": [1, 2]}}, 'Called x9 with nested {"a": [1, 2]}.'),
    ],
)
def test_a_call_is_told_in_the_past_tense_from_name_and_arguments(name, arguments, sentence):
    assert describe(name, arguments) == sentence


json = st.recursive(
    st.none() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner),
)


@given(st.text(min_size=1, max_size=60).filter(lambda name: len(name.split()) == 1), json)
def test_a_sentence_never_has_more_than_25_words(name, arguments):
    found = describe(name, arguments)
    assert len(found.split()) <= MAX_WORDS
    assert "\n" not in found
    assert found[-1] in ".…"


async def test_the_models_sentence_is_taken_when_it_is_faithful():
    found = await synthesize(Parrot('"Read the file src/main.py."'), "read_file", {"path": "src/main.py"})
    assert (found.text, found.model, found.reason) == ("Read the file src/main.py.", "parrot", None)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("Read the file src/other.py for Margaret.", "src/other.py"),
        ("word " * 26, "26 words"),
        ("Yes", "1 words"),
        (ModelAway("out of reach"), "out of reach"),
    ],
)
async def test_else_the_template_serves_and_the_reason_is_kept(says, reason):
    found = await synthesize(Parrot(says), "read_file", {"path": "src/main.py"})
    assert found.text == describe("read_file", {"path": "src/main.py"})
    assert found.model == TEMPLATE
    assert reason in found.reason


async def test_without_a_model_the_template_serves():
    found = await synthesize(None, "read_file", {"path": "a"})
    assert (found.model, found.reason) == (TEMPLATE, None)
