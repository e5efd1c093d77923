"""What the agent sees: the whole context of one turn, within a budget, attributed and without repetition."""

from keepword.compose.compose import Composer, Request
from keepword.compose.inline import Inline
from keepword.compose.parts import ORDER, Composed, QuotesIn, SectionName
from keepword.compose.ports import Layers
from keepword.compose.shelf import Shelf

__all__ = ["ORDER", "Composed", "Composer", "Inline", "Layers", "QuotesIn", "Request", "SectionName", "Shelf"]
