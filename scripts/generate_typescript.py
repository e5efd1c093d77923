"""Writes the types of the TypeScript client from the service's own OpenAPI document.

    .venv/bin/python scripts/generate_typescript.py

A test generates them again and compares.
"""

import json
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

from keepword.http.app import create_app

FILE = Path(__file__).parents[1] / "clients" / "typescript" / "src" / "types.ts"
HEAD = "// Written by scripts/generate_typescript.py from the service's OpenAPI document.\n"
_REF = "#/components/schemas/"
_WIDE = 100


def document() -> dict[str, Any]:
    """Return the OpenAPI document; it depends on the routes alone, not on what they call."""
    return create_app(MagicMock(request_timeout_seconds=1)).openapi()


def generate(schemas: dict[str, Any]) -> str:
    return HEAD + "".join(f"\n{_declare(name, schema)}" for name, schema in sorted(schemas.items()))


def _declare(name: str, schema: dict[str, Any]) -> str:
    comment = _comment(schema, "")
    if name == "JsonValue":
        return f"{comment}export type JsonValue = unknown;\n"
    if "properties" in schema:
        return f"{comment}export interface {name} {_fields(schema, '')}\n"
    return f"{comment}export type {name} = {_type(schema, '')};\n"


def _fields(schema: dict[str, Any], indent: str) -> str:
    required = schema.get("required", ())
    inner = indent + "  "
    lines = [
        f"{_comment(field, inner)}{inner}{_key(name)}{'' if name in required else '?'}: {_type(field, inner)};\n"
        for name, field in schema["properties"].items()
    ]
    return "{\n" + "".join(lines) + indent + "}"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _comment(schema: dict[str, Any], indent: str) -> str:
    text = " ".join(schema.get("description", "").split()).replace("*/", "* /")
    return f"{indent}/** {text} */\n" if text else ""


def _type(schema: dict[str, Any], indent: str) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REF)
    for either in ("anyOf", "oneOf"):
        if either in schema:
            return " | ".join(dict.fromkeys(_type(one, indent) for one in schema[either]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    return _plain(schema, indent)


def _plain(schema: dict[str, Any], indent: str) -> str:
    kind = schema.get("type")
    if kind == "array":
        item = _type(schema.get("items", {}), indent)
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kind == "object" and "properties" in schema:
        return _fields(schema, indent)
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values, indent) if isinstance(values, dict) and values else 'unknown'}>"
    names = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
    return names.get(str(kind), "unknown")


if __name__ == "__main__":
    FILE.write_text(generate(document()["components"]["schemas"]), encoding="utf-8")
