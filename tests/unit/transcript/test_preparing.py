"""Long texts are read elsewhere, in pieces, and are found as if they were read here at once."""

from importlib import import_module

import pytest

from keepword.embedding import text_indexer
from keepword.model import Draft
from keepword.slices import at_once
from keepword.transcript import entries_of

# the package has a function of that name
append = import_module("keepword.transcript.append")

pytestmark = pytest.mark.anyio
SALTS = ("tenant", "session:s")

SHORT = Draft("user", "hello there", event_id="one")
WORDS = Draft("user", " ".join(f"word{number}" for number in range(40_000)), event_id="two")
TOOL = Draft("tool", "ran", tool_name="grep", tool_result="line of a result\n" * 5_000)
BLANK = Draft("user", " \n" * 60_000)


@pytest.mark.parametrize("drafts", [[WORDS], [SHORT, WORDS, SHORT, TOOL, BLANK], [SHORT] * 900, [BLANK]])
async def test_long_batches_are_prepared_as_short_ones_are(drafts):
    prepared = await append._prepare_all(drafts, text_indexer(), SALTS, at_once)
    assert [message.draft for message in prepared] == drafts
    assert [message.entries for message in prepared] == [entries_of(draft, text_indexer(), SALTS) for draft in drafts]
    expected = [append.digest(draft) if draft.event_id else None for draft in drafts]
    assert [message.digest for message in prepared] == expected
    assert len({message.id for message in prepared}) == len(drafts)


async def test_no_call_reads_much_more_than_its_share():
    sizes = []

    async def note(do, *args, **kwargs):
        if do is append._index:
            sizes.append(sum(map(len, args[0])))
        return do(*args, **kwargs)

    await append._prepare_all([WORDS, TOOL], text_indexer(), SALTS, note)
    assert len(sizes) > 3
    assert max(sizes) <= append.CALL_CHARS
