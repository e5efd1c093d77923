"""Composes the context of one turn: within a budget, attributed and without repetition."""

from keepword.compose.compose import Composer, ComposeRequest
from keepword.compose.inline import InlineCompactor
from keepword.compose.parts import ORDER
from keepword.compose.ports import TurnStores
from keepword.compose.template_loader import TemplateLoader

__all__ = [
    "ORDER",
    "ComposeRequest",
    "Composer",
    "InlineCompactor",
    "TemplateLoader",
    "TurnStores",
]
