"""Which version of a thing a request expects: If-Match, If-None-Match, or a version in the body."""

from typing import Annotated

from fastapi import Depends, Header

from keepword.errors import InvalidInput

MAX_VERSION = (1 << 63) - 1


def only_version(conditions: dict[str, int | None]) -> int | None:
    """Return the one version that the request expects, None if it expects none."""
    versions = {name: number for name, number in conditions.items() if number is not None}
    if len(set(versions.values())) > 1:
        raise InvalidInput(f"{' and '.join(versions)} ask for different versions; send one of them", min(versions))
    return next(iter(versions.values()), None)


def _tag(if_match: str | None) -> int | None:
    if if_match is None:
        return None
    number = if_match.strip().removeprefix('"').removesuffix('"')
    if not (number.isascii() and number.isdigit() and int(number) <= MAX_VERSION):
        raise InvalidInput(f'If-Match is {if_match!r}; send a version as its ETag has it, such as "3"', "If-Match")
    return int(number)


def _none(if_none_match: str | None) -> int | None:
    if if_none_match is None:
        return None
    if if_none_match.strip() != "*":
        raise InvalidInput(f"If-None-Match is {if_none_match!r}; here it can only be *", "If-None-Match")
    return 0


# the patterns are for readers of the OpenAPI document; errors of a header are reported here
_IfMatch = Header(description='the version to replace, such as "3"', json_schema_extra={"pattern": '^"[0-9]{1,18}"$'})
_IfNoneMatch = Header(
    description="only `*`: write only if there is no such fact", json_schema_extra={"pattern": r"^\*$"}
)


def _expect(if_match: Annotated[str | None, _IfMatch] = None) -> int | None:
    return _tag(if_match)


def _expect_or_none(
    expected: Annotated[int | None, Depends(_expect)], if_none_match: Annotated[str | None, _IfNoneMatch] = None
) -> int | None:
    return only_version({"If-Match": expected, "If-None-Match": _none(if_none_match)})


Expected = Annotated[int | None, Depends(_expect)]
ExpectedOrNone = Annotated[int | None, Depends(_expect_or_none)]
