"""What an agent says that it did, will do or knows of an arrangement, remembered as the agent's word by rules.

It is no word of a person: it has no user, stands in no profile, and gives way to whatever a person says.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from keepword import patterns
from keepword.answers import MemoryType
from keepword.memories.extracted import ExtractedMemory
from keepword.memories.rule import CLAUSE_CHARS, MAX_CHARS
from keepword.memories.speech import own_words, sentences
from keepword.model import Message
from keepword.secret_text import HIDDEN

MAX_WORDS = 20  # of one message: a longer list is a text that the agent wrote, no report
CONFIDENCE = 0.6
_FLAGS = patterns.IGNORECASE
_DID = (
    "booked|scheduled|reserved|ordered|sent|created|cancelled|canceled|updated|changed|moved|filed|submitted|paid|"
    "renewed|"
    "added|confirmed|registered|deployed|merged|fixed|opened|closed|uploaded|installed|arranged|transferred|refunded|"
    "emailed|invited|published|removed|deleted|set up|signed up|picked|chosen"
)
_DO = (
    "book|schedule|reserve|order|send|create|cancel|update|change|move|file|submit|pay|renew|add|confirm|register|"
    "deploy|merge|fix|open|close|upload|install|arrange|transfer|refund|email|invite|publish|remove|delete|set up|"
    "remind|call|follow up|check"
)
_LEAD = r"(?:(?:done|ok|okay|sure|great|perfect|all right|alright|certainly|of course|yes|good news)\s*+[,:!.]\s*+)?"
_DONE = patterns.at_start_of_short(
    rf"{_LEAD}(?:I've|I have|I)\s(?:(?:just|now|already|also)\s)*(?P<what>(?:{_DID})\s.+)", CLAUSE_CHARS, _FLAGS
)
_WILL = patterns.at_start_of_short(
    rf"{_LEAD}I(?:'ll|\swill)\s(?:(?:also|then)\s)*(?P<what>(?:{_DO})\s.+)", CLAUSE_CHARS, _FLAGS
)
_ARRANGED = patterns.at_start_of_short(
    rf"{_LEAD}(?P<what>Your\s[\w' -]{{1,40}}\s(?:is|are|has\sbeen|have\sbeen)\s(?:now\s)?(?:{_DID}|on|at|due)\b.+)",
    CLAUSE_CHARS,
    _FLAGS,
)
# what only seems to be said, and what points at something that was said before
_UNFIT = patterns.in_short(
    r"\?|\b(?:if|would|could|might|maybe|perhaps|once you|when you|let me know|it|its|them|they|this|these|those|"
    r"above|below|here)\b",
    CLAUSE_CHARS,
    _FLAGS,
)
_YOUR = patterns.anywhere(r"\b[Yy]our\b")
_YOU = patterns.anywhere(r"\b[Yy]ou\b")
_RULES: tuple[tuple[patterns.ShortStart, MemoryType, str], ...] = (
    (_DONE, "action", "{agent} has {what}"),
    (_WILL, "task", "{agent} will {what}"),
    (_ARRANGED, "fact", "{agent} says: {what}"),
)


def extract(messages: Iterable[Message], user: str | None) -> list[ExtractedMemory]:
    """Extract from what agents said, in the order of the messages. `user` is the one person there, if there is one."""
    memories: list[ExtractedMemory] = []
    for message in messages:
        if message.role == "user":
            user = message.user or user
        elif message.role == "assistant" and not message.tool_name and not message.metadata.get("injected"):
            memories += islice(_in_message(message, user), MAX_WORDS)
    return memories


def _in_message(message: Message, user: str | None) -> Iterator[ExtractedMemory]:
    for sentence in sentences(own_words(message.content)):
        if len(sentence) > MAX_CHARS or HIDDEN in sentence or _UNFIT.search(sentence):
            continue
        for rule, type_, verb in _RULES:
            if (said := rule.match(sentence)) is not None:
                yield _make(type_, verb, said["what"], message, user or "the user")
                break


def _make(type_: MemoryType, verb: str, what: str, message: Message, user: str) -> ExtractedMemory:
    agent = message.agent or "the agent"
    about = _YOU.sub(lambda _: user, _YOUR.sub(lambda _: f"{user}'s", what.rstrip(" .!,;:")))
    text = verb.replace("{agent}", agent).replace("{what}", about)
    return ExtractedMemory(
        type_, f"{text} (said on {message.created_at:%Y-%m-%d}).", CONFIDENCE, message.created_at, (message.id,),
        agent=message.agent, vouched=False, said_by="agent",
    )  # fmt: skip
