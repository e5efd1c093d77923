"""How the service itself stands, for who runs it."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `fix` says what to do where it is not well."""

    name: str
    ok: bool
    found: str
    fix: str


@dataclass(frozen=True, slots=True)
class ServiceSetting:
    name: str
    variable: str
    value: Annotated[str, Field(description="as text; secrets are hidden")]
    origin: Annotated[str, Field(description="the variable or file that it came from, or `default`")]


@dataclass(frozen=True, slots=True)
class ServiceReport:
    """`findings` are those of `keepword doctor` that ask no model."""

    version: str
    findings: tuple[Finding, ...]
    settings: tuple[ServiceSetting, ...]
