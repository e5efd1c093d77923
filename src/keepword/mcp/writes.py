"""The tools that write, through the routes of the service: each reports its change and how to undo it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from keepword.errors import InvalidInput, NotFound
from keepword.mcp.ports import Memory
from keepword.mcp.text import MAX_CHARS, quoted
from keepword.model import check_name

Given = dict[str, Any]

_OF_MESSAGES = ("role", "event_id")
_OF_STATEMENTS = ("type", "project", "categories", "expires_at")
_CHANGEABLE = ("content", "type", "categories", "metadata", "expires_at")


async def add(memory: Memory, given: Given) -> Given:
    """Append a message or remember a statement; a conversation that is not there is made."""
    is_message = given.get("kind") == "message"
    for name in _OF_STATEMENTS if is_message else _OF_MESSAGES:
        if name in given:
            kind = "statement" if is_message else "message"
            raise InvalidInput(f"{name} is of a {kind}; leave it out, or say kind {kind}", name)
    conversation = _conversation(given) if is_message or "project" not in given else given.get("conversation")
    put = _append if is_message else _remember
    try:
        return await put(memory, given)
    except NotFound:
        if conversation is None:
            raise
        # one that is there and may be seen stays as it is
        await memory.request("PUT", _path("conversations", conversation), body={})
    return await put(memory, given)


async def _append(memory: Memory, given: Given) -> Given:
    conversation = given["conversation"]
    body = _only(given, "content", "event_id", "metadata") | {"role": given.get("role", "user")}
    answer = await memory.request("POST", f"{_path('conversations', conversation)}/messages", body=body)
    (receipt,) = answer["messages"]
    where = f"{quoted(conversation)} #{receipt['seq']}"
    if receipt["duplicate"]:
        return {"said": f"It was there already: message {where}. Nothing to undo.", "undo": None, "message": receipt}
    undo = _undo("memory_forget", conversation=conversation, seq=receipt["seq"])
    return _done(f"Appended message {where}: {_short(given['content'])}", undo, message=receipt)


async def _remember(memory: Memory, given: Given) -> Given:
    body = _only(given, "conversation", "content", "metadata", *_OF_STATEMENTS)
    stored = await memory.request("POST", "/v1/semantic", body=body)
    if stored["times"] > 1:
        said = f"It was known already: memory {stored['id']}, {_short(stored['content'])}. Nothing to undo."
        return {"said": said, "undo": None, "memory": stored}
    undo = _undo("memory_forget", **_memory(stored, given))
    return _done(f"Remembered as memory {stored['id']}: {_short(stored['content'])}", undo, memory=stored)


async def update(memory: Memory, given: Given) -> Given:
    path, place = _path("semantic", given["memory"]), _place(given)
    body = _only(given, *_CHANGEABLE)
    if not body:
        raise InvalidInput(f"say what to change: {', '.join(_CHANGEABLE)}", "content")
    if body.get("expires_at") == "never":
        body["expires_at"] = None
    before = await memory.request("GET", path, query=place)
    changed = await memory.request("PATCH", path, query=place, body=body)
    former = {name: before[name] for name in body} | ({"expires_at": before["expires_at"] or "never"}
                                                        if "expires_at" in body else {})  # fmt: skip
    undo = _undo("memory_update", **_memory(changed, given), **former)
    return _done(f"Changed memory {changed['id']}: {_short(changed['content'])}", undo, memory=changed)


async def forget(memory: Memory, given: Given) -> Given:
    if ("memory" in given) == ("seq" in given):
        raise InvalidInput("name a memory, or a message by conversation and seq", "memory")
    return await (_forget_memory if "memory" in given else _retract)(memory, given)


async def _forget_memory(memory: Memory, given: Given) -> Given:
    id_, place = given["memory"], _place(given)
    path = _path("semantic", id_)
    if given.get("undo"):
        stored = await memory.request("POST", f"{path}/restore", query=place)
        undo = _undo("memory_forget", **_memory(stored, given))
        return _done(f"Brought back memory {stored['id']}: {_short(stored['content'])}", undo, memory=stored)
    before = await memory.request("GET", path, query=place)
    await memory.request("DELETE", path, query=place)
    undo = _undo("memory_forget", **_memory(before, given), undo=True)
    return _done(f"Forgot memory {before['id']}: {_short(before['content'])}", undo)


async def _retract(memory: Memory, given: Given) -> Given:
    conversation, seq = _conversation(given), given["seq"]
    path = f"{_path('conversations', conversation)}/messages/{seq}/retract"
    where, message = f"{quoted(conversation)} #{seq}", {"conversation": conversation, "seq": seq}
    if given.get("undo"):
        await memory.request("DELETE", path)
        return _done(f"Took back the retraction of message {where}", _undo("memory_forget", **message))
    await memory.request("POST", path, body=_only(given, "reason"))
    return _done(f"Retracted message {where}", _undo("memory_forget", **message, undo=True))


async def fact_set(memory: Memory, given: Given) -> Given:
    path, place = f"{_facts(given)}/{_segment(given['key'])}", _place(given)
    fact_key = _only(given, "conversation", "scope_kind", "scope_id", "key")
    name = f"{_scope(given)} {quoted(given['key'])}"
    before = None
    with suppress(NotFound):
        before = await memory.request("GET", path, query=place)
    undo = _undo("fact_set", **fact_key, **({"value": before["value"]} if before else {"remove": True}))
    if given.get("remove"):
        await memory.request("DELETE", path, query=place)
        return _done(f"Deleted the fact {name}", undo)
    if "value" not in given:
        raise InvalidInput("say the value, or remove the fact with remove", "value")
    fact = await memory.request("PUT", path, query=place, body=_only(given, "value", "type"))
    if before and before["version"] == fact["version"]:
        said = f"The fact {name} was {_json(fact['value'])} already. Nothing to undo."
        return {"said": said, "undo": None, "fact": fact}
    return _done(f"Set the fact {name} to {_json(fact['value'])}", undo, fact=fact)


async def fact_get(memory: Memory, given: Given) -> Given:
    place, paging = _place(given), _only(given, "limit", "cursor")
    if "scope_kind" not in given:
        if "key" in given or "scope_id" in given:
            raise InvalidInput("say scope_kind as well", "scope_kind")
        return await memory.request("GET", "/v1/facts", query=place | paging)
    if "key" not in given:
        return await memory.request("GET", _facts(given), query=place | paging)
    fact = await memory.request("GET", f"{_facts(given)}/{_segment(given['key'])}", query=place)
    return {"facts": [fact], "next": None}


async def pin(memory: Memory, given: Given) -> Given:
    if given.get("undo"):
        if "landmark" not in given:
            raise InvalidInput("name the landmark to unpin", "landmark")
        await memory.request("DELETE", _path("landmarks", given["landmark"]))
        return {"said": f"Unpinned {quoted(given['landmark'])}; pin it again to undo that.", "undo": None}
    conversation = _conversation(given)
    if "seq" not in given:
        raise InvalidInput("name the message by seq", "seq")
    body = _only(given, "seq", "text", "kind") | {"conversation": conversation}
    mark = await memory.request("POST", "/v1/landmarks", body=body)
    undo = _undo("landmark_pin", landmark=mark["id"], undo=True)
    where = f"{quoted(conversation)} #{given['seq']}"
    return _done(f"Pinned message {where} as {mark['kind']}: {_short(mark['text'])}", undo, landmark=mark)


def facts(page: Mapping[str, Any]) -> str:
    """Say each fact on a line of its own."""
    lines = [
        f"{number}. {_scope(fact)} {quoted(fact['key'])} = {_json(fact['value'])} (version {fact['version']})"
        for number, fact in enumerate(page["facts"], 1)
    ] or ["There are no facts here."]
    return "\n".join([*lines, *([f"There is more: cursor {quoted(page['next'])}"] if page["next"] else [])])


def _done(what: str, undo: Given, **things: Given) -> Given:
    undo_call = f"{undo['tool']} {json.dumps(undo['arguments'])}"
    return {"said": f"{what}. To undo: {undo_call}", "undo": undo, **things}


def _undo(tool: str, **arguments: Any) -> Given:
    return {"tool": tool, "arguments": arguments}


def _only(given: Given, *names: str) -> Given:
    return {name: given[name] for name in names if name in given}


def _place(given: Given) -> Given:
    return _only(given, "conversation")


def _memory(memory: Mapping[str, Any], given: Given) -> Given:
    """Return how to name a memory; one of a project is named in a conversation's place."""
    return {"memory": memory["id"]} | (_place(given) if memory["conversation"] is None else {})


def _conversation(given: Given) -> str:
    conversation = given.get("conversation")
    if not conversation:
        raise InvalidInput(
            "name the conversation to write in; this server was set up with none (--in, or /mcp?conversation=)",
            "conversation",
        )
    return str(conversation)


def _facts(given: Given) -> str:
    kind, id_ = given["scope_kind"], given.get("scope_id")
    if id_ is None and kind != "global":
        raise InvalidInput(f"name the {kind} whose fact it is", "scope_id")
    return f"/v1/facts/{_segment(kind)}/{_segment(id_ or '-')}"


def _scope(fact: Mapping[str, Any]) -> str:
    id_ = fact.get("scope_id")
    return fact["scope_kind"] if id_ is None else f"{fact['scope_kind']} {quoted(id_)}"


def _path(kind: str, id_: str) -> str:
    return f"/v1/{kind}/{_segment(id_)}"


def _segment(name: str) -> str:
    return quote(check_name(name, "id"), safe="")


def _short(text: str) -> str:
    return quoted(text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…")


def _json(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
