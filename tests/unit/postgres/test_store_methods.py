"""No store method reads without a Grant."""

import importlib
import inspect
import pkgutil
from typing import get_type_hints

import pytest

from keepword import postgres
from keepword.access import Grant
from keepword.postgres.pool import Pool

# name -> why it reads without a grant
WITHOUT_A_GRANT = {
    "PostgresBacklog": "the worker's: ids of all tenants; texts come from PostgresTexts, under a grant for each tenant",
    "PostgresItemBacklog": "the same for parts of items",
    "PostgresPlaceLookup": "tells the ids that grants are decided from, before there is one",
    "PostgresSpaces": "tells which vector space searches use, the same for everybody",
    "PostgresQuotas": "counts what a tenant uses, as numbers: nothing that was said",
    "PostgresQueue": "moves ids of what is to be done, across all tenants; each job then has a grant of its own",
    "PostgresImportQueue": "hands what its owner started to whoever runs it; each call needs the lease of that import",
    "PostgresDeliveries": "hands the worker ids of what webhooks are to be told, across all tenants",
    "PostgresErasureQueue": "moves on what was decided to be erased, across all tenants: ids and numbers",
    "PostgresDirectory": "names the server of a key's tenant, before there is a viewer",
    "PostgresProcesses": "notes since when a process has its memory; finds erasures by their times, in all tenants",
    "PostgresKeys": "finds the key that a viewer is proved by, before there is a viewer",
}


def _stores() -> dict[str, type]:
    """Find every class that is given the pool."""
    modules = [
        importlib.import_module(f"{postgres.__name__}.{m.name}") for m in pkgutil.iter_modules(postgres.__path__)
    ]
    classes = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    ours = [made for made in classes if made.__module__.startswith(postgres.__name__) and "__init__" in vars(made)]
    by_name = sorted(ours, key=lambda made: made.__name__)
    return {made.__name__: made for made in by_name if Pool in get_type_hints(made.__init__).values()}


def _methods() -> list[tuple[str, str]]:
    return [
        (name, method)
        for name, store in _stores().items()
        for method, value in vars(store).items()
        if inspect.isfunction(value) and not method.startswith("_") and method not in {"aclose", "clear"}
    ]


def test_there_are_stores_and_every_exception_is_one():
    assert len(_stores()) > len(WITHOUT_A_GRANT)
    assert set(WITHOUT_A_GRANT) <= set(_stores())


@pytest.mark.parametrize(("store", "method"), [pair for pair in _methods() if pair[0] not in WITHOUT_A_GRANT])
def test_every_store_method_takes_a_grant_first_and_has_no_default_for_it(store, method):
    function = getattr(_stores()[store], method)
    _, first, *_ = inspect.signature(function).parameters.values()
    assert get_type_hints(function)[first.name] is Grant
    assert first.default is inspect.Parameter.empty


@pytest.mark.parametrize("store", sorted(WITHOUT_A_GRANT))
def test_what_needs_no_grant_never_asks_for_one(store):
    """It would see rows behind the wall then, and belong among the others."""
    assert "granted(" not in inspect.getsource(_stores()[store])
