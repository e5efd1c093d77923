"""The reference promises what there is, and leaves nothing out."""

import re
from pathlib import Path

import pytest
import typer.main
from prometheus_client import Counter, Gauge, Histogram

from keepword import errors, metrics
from keepword.cli import make_app
from keepword.config import Settings, variable
from keepword.http.guards import GUARDS
from keepword.http.statuses import STATUS
from keepword.jobs import worker
from keepword.mcp import server

METRICS = [made for made in vars(metrics).values() if isinstance(made, Counter | Gauge | Histogram)]
DOCS = Path(__file__).parents[3] / "docs"


def page(name) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def test_the_index_leads_to_every_page_of_the_reference():
    index = (DOCS / "reference.md").read_text(encoding="utf-8")
    names = [path.name for path in (DOCS / "reference").iterdir()]
    assert names
    assert [name for name in names if f"(reference/{name}" not in index] == []


@pytest.mark.parametrize("setting", Settings.model_fields)
def test_every_setting_is_described(setting):
    assert f"`{variable(setting)}`" in page("settings")


@pytest.mark.parametrize(("method", "path"), GUARDS)
def test_every_route_is_described(method, path):
    assert f"`{method} {path}`" in page("routes")


@pytest.mark.parametrize("status", sorted({*STATUS.values(), 405, 500}))
def test_every_status_of_an_error_is_described(status):
    assert f"| {status} |" in page("errors")


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_described(metric):
    (family,) = metric.describe()
    name = f"{family.name}_total" if family.type == "counter" else family.name
    assert f"`{name}`" in page("operations")


@pytest.mark.parametrize("tool", server.TOOLS)
def test_every_tool_is_described(tool):
    assert f"| `{tool}` |" in page("routes")


@pytest.mark.parametrize("task", worker.TASKS)
def test_every_task_is_described(task):
    assert f"| `{task}` |" in page("operations")


ERRORS = [name for name, kind in vars(errors).items() if isinstance(kind, type)]


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_described(error):
    assert f"`{error}`" in page("errors")


def test_every_error_is_described_with_its_status():
    shown = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", page("errors"), re.MULTILINE))
    assert shown == {error.__name__: str(status) for error, status in STATUS.items()}


def commands(command, path="keepword"):
    children = getattr(command, "commands", None)
    if not children:
        return [path]
    return [found for name, child in children.items() for found in commands(child, f"{path} {name}")]


@pytest.mark.parametrize("command", commands(typer.main.get_command(make_app())))
def test_every_command_is_described(command):
    assert f"`{command}" in page("command-line")
