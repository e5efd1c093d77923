"""The TypeScript client has every call of the Python client, under the same name in camel case."""

import re
from inspect import getmembers, isfunction
from pathlib import Path

import pytest

from keepword.client.base import BaseClient

SOURCE = Path(__file__).parents[3] / "clients" / "typescript" / "src"
_CLASS = re.compile(r"^export class (\w+)", re.MULTILINE)
_METHOD = re.compile(r"^  (?:async )?(\w+)(?:<[^>]*>)?\(", re.MULTILINE)


def _typescript() -> dict[str, set[str]]:
    text = "".join(path.read_text() for path in sorted(SOURCE.glob("*.ts")) if path.name != "types.ts")
    names = [(match[1], match.end()) for match in _CLASS.finditer(text)]
    ends = [start for _, start in names[1:]] + [len(text)]
    return {name: set(_METHOD.findall(text[start:end])) for (name, start), end in zip(names, ends, strict=True)}


def _python() -> dict[str, set[str]]:
    groups = {name: type(group) for name, group in vars(BaseClient(None)).items() if not name.startswith("_")}  # type: ignore[arg-type]
    return {kind.__name__: _calls(kind) for kind in groups.values()} | {"Client": _calls(BaseClient)}


def _calls(kind: type) -> set[str]:
    return {_camel(name) for name, _ in getmembers(kind, isfunction) if not name.startswith("_")}


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter[1].upper(), name)


@pytest.mark.parametrize("group", sorted(_python()))
def test_every_call_of_python_is_there(group):
    assert _python()[group] - _typescript().get(group, set()) == set()
