"""LangGraph's own tests of stores and of its SDK's store pass with ours, and so do the examples of the how-to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compat import page
from compat.conftest import HERE, installed
from compat.outcomes import run_suite
from compat.sdist import unpacked

SDK = ("langgraph-sdk==0.4.14", "13eb1fee92504d87c1f0f43c8e213e7ba0a46bd23a07e3198e413d48efac5833")
BASE = ("langgraph-checkpoint==4.3.1", "625e7c78a72b33e7c47f7e87ca051060fb90aa66f5fd551c472c08376fb669cb")
POSTGRES = ("langgraph-checkpoint-postgres==3.2.0", "dffef0e6822d7c614019f7f2c4bdbef42859746aee2d3e6d9d9747cf3744ca90")
SQLITE = ("langgraph-checkpoint-sqlite==3.1.2", "4e3f376fa6f192d6ad2a1a4643b039986f1593552ef870e9e45281575de6fbf2")
HOWTO = HERE.parents[1] / "docs" / "howto" / "langgraph.md"
BLOCK = re.compile(r"<!-- run: (\w+) -->\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

CONFIG = "asks for the configuration of an index of vectors, which ours has none of"
LETTERS = "asks for 'bbbbluuu' and expects 'blue car': its embedding counts letters"
COSINE = "expects the cosine of its embedding to the third or fifth decimal"
INSIDE = "about functions and tables inside their store"
ROWS = "backdates rows through their cursor"
ALLOWED = "expects an error for a call without await on the loop, which ours allows"
MANY = "6,000 or 60,000 calls at once, each a request here: not done within 5 minutes on 2 busy processors"
STORE = "`keepword.adapters.langgraph.KeepwordStore` in place of theirs."
SUITES = {
    "checkpoint": (BASE, "tests/test_store.py", {
        "test_vector_store_initialization": CONFIG, "test_vector_search_with_filters": LETTERS,
        "test_async_vector_search_with_filters": LETTERS, "test_embed_with_path": COSINE,
    }),
    "postgres": (POSTGRES, "tests/test_store.py", {
        "test_vector_store_initialization": CONFIG, "test_vector_search_with_filters": LETTERS,
        "test_embed_with_path_sync": COSINE, "test_scores": COSINE,
        "test_escape_like_literal": INSIDE, "test_namespace_match_pattern": INSIDE, "test_nonnull_migrations": INSIDE,
        "test_omit_expired_filters_read_paths": ROWS, "test_omit_expired_disabled_preserves_expired_rows": ROWS,
        "test_omit_expired_refresh_ttl_only_refreshes_live_rows": ROWS, "test_omit_expired_search_pagination": ROWS,
    }),
    "postgres-async": (POSTGRES, "tests/test_async_store.py", {
        "test_vector_store_initialization": CONFIG, "test_vector_search_with_filters": LETTERS,
        "test_embed_with_path": COSINE, "test_abatch_uses_single_pool_checkout": INSIDE,
        "test_large_batches": MANY, "test_large_batches_async": MANY, "test_no_running_loop": ALLOWED,
        "test_omit_expired_filters_read_paths": ROWS, "test_omit_expired_disabled_preserves_expired_rows": ROWS,
        "test_omit_expired_refresh_ttl_only_refreshes_live_rows": ROWS, "test_omit_expired_search_pagination": ROWS,
    }),
    "sqlite": (SQLITE, "tests/test_store.py", {
        "test_vector_store_initialization": CONFIG, "test_vector_search_with_filters": LETTERS,
        "test_scores": COSINE, "test_nonnull_migrations": INSIDE, "test_escape_glob_literal": INSIDE,
        "test_namespace_match_pattern": INSIDE, "test_list_namespaces_prefix_uses_indexable_condition": INSIDE,
        "test_sql_injection_vulnerability": "expects an error for a name with a quote; here it is a name like others",
    }),
    "sqlite-async": (SQLITE, "tests/test_async_store.py", {
        "test_vector_store_initialization": CONFIG, "test_vector_search_with_filters": LETTERS,
        "test_large_batches_async": MANY, "test_no_running_loop": ALLOWED,
    }),
    "sqlite-ttl": (SQLITE, "tests/test_ttl.py", {
        "test_ttl_refresh": "counts what its own sweeper deleted",
        "test_async_ttl_refresh": "counts what its own sweeper deleted",
        "test_ttl_override_default": "expects that a read keeps the lifetime, where LangGraph's default begins it anew",
    }),
}  # fmt: skip


@pytest.fixture(scope="module")
def packages() -> Path:
    return installed(HERE / "langgraph.txt")


@pytest.mark.parametrize("name", SUITES)
def test_their_tests_of_stores_pass_with_ours(packages, service, tmp_path, monkeypatch, name):
    (requirement, digest), file, left_out = SUITES[name]
    source = unpacked(requirement, digest)
    # what their conftest sets up are databases of theirs
    monkeypatch.setenv("PYTEST_ADDOPTS", "--noconftest -o asyncio_mode=auto")
    package, _, version = requirement.partition("==")
    suite = page.Suite(f"langgraph-{name}", f"{package}: {file}", version, STORE)
    run_suite(suite, source / file, left_out, path=[packages, source], url=service.url, plugin="langgraph_plugin",
              folder=tmp_path)  # fmt: skip


def test_the_sdk_s_own_tests_of_its_store_pass_unchanged(packages, service, tmp_path, monkeypatch):
    requirement, digest = SDK
    source = unpacked(requirement, digest)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-o asyncio_mode=auto")
    monkeypatch.setenv("LANGGRAPH_INTEGRATION_URL", service.url)
    file = "tests/integration/test_store.py"
    suite = page.Suite(
        "langgraph-sdk", f"langgraph-sdk: {file}", "0.4.14", "The SDK's client of LangGraph's server, against ours."
    )
    run_suite(suite, source / file, {}, path=[packages, source], url=service.url, plugin="pytest_asyncio",
              folder=tmp_path)  # fmt: skip


AGENTS = page.Suite(
    "langgraph-agents", "langmem and deepagents: the examples of docs/howto/langgraph.md",
    "langmem 0.0.30, deepagents 0.7.32",
    "langmem's memory tools and the `StoreBackend` of deepagents with `KeepwordStore`, which is also run by itself and "
    "embedded.",
)  # fmt: skip
SAID = {
    "langgraph": "trip Ann flies to Lisbon on Friday",
    "embedded": "Ann likes green tea in the morning",
    "langmem": "Ann is allergic to walnuts",
    "deepagents": "The invoice is number 8432.",
}


def test_the_examples_of_the_how_to_run(packages, service, tmp_path):
    examples = dict(BLOCK.findall(HOWTO.read_text(encoding="utf-8")))
    assert set(examples) == set(SAID)
    agents = installed(HERE / "langgraph_agents.txt")
    for name, text in examples.items():
        asked = text.replace("http://127.0.0.1:8002", service.url)
        env = os.environ | {"KEEPWORD_HOME": str(service.home)}
        if name == "embedded":
            # the service itself runs in that process, by its own packages first
            asked = f"import sys; sys.path.append({str(packages)!r})\n{asked}"
        else:
            env["PYTHONPATH"] = str(packages if name == "langgraph" else agents)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", asked],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (name, done.stderr[-3000:])
        assert SAID[name] in done.stdout
    page.write(page.Outcome(AGENTS, len(examples), len(examples)))
