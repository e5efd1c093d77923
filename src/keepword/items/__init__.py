"""JSON values under a namespace and a key, for one agent or user: what LangGraph calls a store. Never composed."""

from keepword.items.namespaces import LabelMatch
from keepword.items.operations import GetItem, Items, ListNamespaces, Operation, PutItem, SearchItems
from keepword.items.ports import ItemStore

__all__ = [
    "GetItem",
    "ItemStore",
    "Items",
    "LabelMatch",
    "ListNamespaces",
    "Operation",
    "PutItem",
    "SearchItems",
]
