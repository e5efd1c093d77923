"""The types of the TypeScript client are those of the routes."""

from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_its_types_are_those_of_the_routes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import generate_typescript  # noqa: PLC0415, a script, not a package

    schemas = generate_typescript.document()["components"]["schemas"]
    assert generate_typescript.FILE.read_text() == generate_typescript.generate(schemas), (
        "run .venv/bin/python scripts/generate_typescript.py"
    )
