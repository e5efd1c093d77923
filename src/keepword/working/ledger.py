"""The ledger's rules: string markers under short keys; who marks first may inject."""

from collections.abc import Mapping
from dataclasses import dataclass

from keepword.access import Grant, Place
from keepword.errors import InvalidInput
from keepword.working.access_checks import require_write
from keepword.working.ports import Ledger

MAX_KEY_CHARS = 200
MAX_VALUE_CHARS = 1000
DEFAULT_VALUE = "injected"


@dataclass(frozen=True, slots=True)
class InjectionLedger:
    """One conversation's ledger."""

    store: Ledger
    grant: Grant
    place: Place

    async def get(self) -> dict[str, str]:
        """Return all markers, in the order of their keys."""
        marks = await self.store.get(self.grant, self.place)
        return {item_key: marks[item_key] for item_key in sorted(marks)}

    async def check(self, item_key: str) -> str | None:
        """Return the item's marker, or None if it was not injected."""
        check_item(item_key)
        return await self.store.check(self.grant, self.place, item_key)

    async def mark(self, item_key: str, value: str = DEFAULT_VALUE) -> bool:
        """Set the item's value. Return True to the first caller alone."""
        require_write(self.grant, self.place)
        check_item(item_key, value)
        return await self.store.mark(self.grant, self.place, item_key, value)

    async def mark_all(self, marks: Mapping[str, str]) -> None:
        """Set the values of many items, all or none."""
        require_write(self.grant, self.place)
        for item_key, value in marks.items():
            check_item(item_key, value)
        if marks:
            await self.store.mark_all(self.grant, self.place, marks)

    async def evict(self, item_key: str) -> bool:
        """Forget the item, so that it may be injected again; False if it was not there."""
        require_write(self.grant, self.place)
        check_item(item_key)
        return await self.store.evict(self.grant, self.place, item_key)


def check_item(item_key: str, value: str = DEFAULT_VALUE) -> None:
    for name, text, least, most in (
        ("item_key", item_key, 1, MAX_KEY_CHARS),
        ("value", value, 0, MAX_VALUE_CHARS),
    ):
        if not least <= len(text) <= most or "\0" in text:
            raise InvalidInput(f"{name} must have {least} to {most} characters without NUL, not {len(text)}", name)
