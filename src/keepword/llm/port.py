"""The port to a language model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Prompt:
    """`budget_tokens` bounds all that the model writes, its thinking included. With a schema it answers in JSON."""

    system: str
    text: str
    budget_tokens: int
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is without the model's thinking; `data` is the parsed JSON where a schema was given."""

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    data: Any = None


class Model(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int:
        """How many tokens prompt and answer may have together."""
        ...

    async def ask(self, prompt: Prompt) -> Answer:
        """Raise ModelFailed, or one of its kinds, if there is no answer."""
        ...
