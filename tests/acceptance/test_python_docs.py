"""The examples for Python in the documentation run as they stand."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2]
# the calls of others' SDKs have a test of their own, with a server that answers them
BLOCK = re.compile(r"(?<!<!-- run: sdks -->\n)^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = ("README.md", "docs/quickstart.md", "docs/python.md")
EXAMPLES = [(page, text) for page in PAGES for text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=[f"{page}-{n}" for n, (page, _) in enumerate(EXAMPLES)])
def test_an_example_runs(service, monkeypatch, capsys, page, text):
    monkeypatch.setenv("KEEPWORD_HOME", str(service.home))
    monkeypatch.setenv("KEEPWORD_WORKER", "false")
    code = text.replace("http://127.0.0.1:8002", service.url)
    exec(compile(code, page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_every_page_has_an_example():
    assert {page for page, _ in EXAMPLES} == set(PAGES)
