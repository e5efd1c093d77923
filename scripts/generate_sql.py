"""Writes the files of sql/code that repeat one text.

A text stands between lines `-- each {"name": ["first", "second"]}` and a line `-- end`, once for each value.

`<<name>>` stands for a constant of the binary format of entries.

Run it after a change in scripts/sql or of that format; a test fails until the files agree.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from keepword.embedding import entry_format

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "scripts" / "sql"
CODE = ROOT / "src" / "keepword" / "postgres" / "sql" / "code"
_HEAD = "-- Written by scripts/generate_sql.py from scripts/sql/{file}: change it there.\n\n"
_LOOP = re.compile(r"((?:^-- each [^\n]*\n)+)(.*?)^-- end\n", re.MULTILINE | re.DOTALL)


def generate(template: Path) -> str:
    text = template.read_text(encoding="utf-8")
    for name, value in entry_format.for_sql().items():
        text = text.replace(f"<<{name}>>", value)
    return _HEAD.replace("{file}", template.name) + _LOOP.sub(_repeat, text)


def _repeat(loop: re.Match[str]) -> str:
    return "\n".join(_fill(loop[2], values) for line in loop[1].splitlines() for values in _rows(line))


def _rows(line: str) -> Iterator[dict[str, str]]:
    columns: dict[str, list[str]] = json.loads(line.removeprefix("-- each "))
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _fill(body: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        body = body.replace("{" + name + "}", value)
    return body


if __name__ == "__main__":
    for template in sorted(TEMPLATES.glob("*.sql")):
        (CODE / template.name).write_text(generate(template), encoding="utf-8")
