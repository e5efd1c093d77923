"""Plays every call of mem0's client once against a service, in a process that has mem0ai; prints a line for each.

python mem0_calls.py URL sync|async
"""

import asyncio
import inspect
import json
import sys
import time
import uuid

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import AuthenticationError, MemoryNotFoundError, ValidationError

WAIT_SECONDS = 120


class Play:
    """Calls the client, sync or async, and notes how each call went."""

    def __init__(self, client) -> None:
        self.client = client
        self.user = f"compat-{uuid.uuid4().hex[:8]}"

    async def call(self, name, /, *args, **kwargs):
        target = self.client
        for part in name.split("."):
            target = getattr(target, part)
        answer = target(*args, **kwargs)
        return await answer if inspect.isawaitable(answer) else answer

    async def http(self, method, path, **more):
        answer = self.client.client if hasattr(self.client, "client") else self.client.async_client
        sent = answer.request(method, path, **more)
        return (await sent if inspect.isawaitable(sent) else sent).json()

    async def refused(self, error, name, /, *args, **kwargs):
        try:
            await self.call(name, *args, **kwargs)
        except error:
            return
        raise AssertionError(f"{name} raised no {error.__name__}")

    async def memories(self):
        return (await self.call("get_all", filters={"user_id": self.user}))["results"]

    async def keep(self, *texts):
        said = [{"role": "user", "content": text} for text in texts]
        return (await self.call("add", said, user_id=self.user, infer=False))["results"]


async def add(play):
    said = [{"role": "user", "content": "I prefer window seats."}, {"role": "assistant", "content": "Noted."}]
    event = await play.call("add", said, user_id=play.user, metadata={"source": "chat"})
    assert event["status"] == "PENDING", event
    deadline = time.monotonic() + WAIT_SECONDS
    while (await play.http("GET", f"/v1/event/{event['event_id']}/"))["status"] != "SUCCEEDED":
        assert time.monotonic() < deadline, "it was never read"
        await asyncio.sleep(0.5)
    (memory,) = await play.memories()
    assert "prefers window seats" in memory["memory"], memory
    assert memory["metadata"] == {"source": "chat"}, memory


async def add_without_inference(play):
    kept = await play.keep("Has two cats.", "Favorite color is blue.")
    assert [one["event"] for one in kept] == ["ADD", "ADD"], kept


async def search(play):
    answer = await play.call("search", "What is my favorite color?", filters={"user_id": play.user}, top_k=3)
    assert answer["results"][0]["memory"] == "Favorite color is blue.", answer
    assert 0 < answer["results"][0]["score"] <= 1, answer


async def search_by_a_tree(play):
    tree = {"AND": [{"user_id": play.user}, {"OR": [{"metadata": {"source": "chat"}}, {"run_id": "x"}]}]}
    (found,) = (await play.call("search", "seats", filters=tree))["results"]
    assert found["metadata"] == {"source": "chat"}, found


async def get_all(play):
    page = await play.call("get_all", filters={"user_id": play.user}, page=1, page_size=2)
    assert (page["count"], len(page["results"]), bool(page["next"])) == (3, 2, True), page


async def get(play):
    (first, *_) = await play.memories()
    memory = await play.call("get", first["id"])
    assert (memory["id"], memory["user_id"]) == (first["id"], play.user), memory


async def update(play):
    (kept,) = await play.keep("Lives in Rome.")
    changed = await play.call("update", kept["id"], text="Lives in Oslo.", metadata={"a": 1})
    assert (changed["memory"], changed["metadata"]) == ("Lives in Oslo.", {"a": 1}), changed


async def history(play):
    kept = next(one for one in await play.memories() if one["memory"] == "Lives in Oslo.")
    events = [one["event"] for one in await play.call("history", kept["id"])]
    assert events == ["ADD", "UPDATE"], events


async def delete(play):
    (kept,) = await play.keep("Will be gone soon.")
    assert "deleted" in (await play.call("delete", kept["id"]))["message"]
    await play.refused(MemoryNotFoundError, "get", kept["id"])


async def feedback(play):
    (first, *_) = await play.memories()
    answer = await play.call("feedback", first["id"], "POSITIVE", "right")
    assert answer["feedback"] == "POSITIVE", answer


async def batch_update(play):
    kept = await play.keep("Batch one.", "Batch two.")
    changes = [{"memory_id": one["id"], "text": f"Changed: {one['memory']}"} for one in kept]
    assert "2 memories" in (await play.call("batch_update", changes))["message"]


async def batch_delete(play):
    gone = [{"memory_id": one["id"]} for one in await play.memories() if one["memory"].startswith("Changed")]
    assert len(gone) == 2
    assert "2 memories" in (await play.call("batch_delete", gone))["message"]


async def users(play):
    found = await play.call("users")
    assert (play.user, "user") in {(one["name"], one["type"]) for one in found["results"]}, found


async def project_update(play):
    await play.call("project.update", custom_instructions=f"of {play.user}")


async def project_get(play):
    project = await play.call("project.get", fields=["custom_instructions"])
    assert project == {"custom_instructions": f"of {play.user}"}, project


async def webhooks(play):
    project = play.client.project_id
    made = await play.call("create_webhook", "https://example.com/a", "crm", project, ["memory_add"])
    await play.call("update_webhook", made["webhook_id"], name="new", url="https://example.com/b")
    names = {one["webhook_id"]: one["name"] for one in await play.call("get_webhooks", project)}
    assert names[made["webhook_id"]] == "new", names
    await play.call("delete_webhook", made["webhook_id"])


async def bad_ids(play):
    await play.refused(ValidationError, "get", "no-uuid")
    await play.refused(MemoryNotFoundError, "get", str(uuid.UUID(int=0)))


async def bad_filters(play):
    await play.refused(ValidationError, "get_all", filters={"colour": "red"})


async def delete_all(play):
    await play.call("delete_all", user_id=play.user)
    assert await play.memories() == []


async def delete_users(play):
    await play.keep("Once more.")
    await play.call("delete_users", user_id=play.user)
    assert await play.memories() == []


CALLS = (
    add, add_without_inference, search, search_by_a_tree, get_all, get, update, history, delete, feedback, batch_update,
    batch_delete, users, project_update, project_get, webhooks, bad_ids, bad_filters, delete_all, delete_users,
)  # fmt: skip


async def main(url: str, kind: str) -> None:
    tell(await outcome("a bad key", refuse_bad_key(url)))
    play = Play((AsyncMemoryClient if kind == "async" else MemoryClient)(api_key="local", host=url))
    for one in CALLS:
        tell(await outcome(one.__name__.replace("_", " "), one(play)))


def tell(outcome: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(outcome) + "\n")
    sys.stdout.flush()


async def refuse_bad_key(url: str) -> None:
    try:
        MemoryClient(api_key="invalid-key-12345", host=url)
    except (ValueError, AuthenticationError):
        return
    raise AssertionError("a bad key was taken")


async def outcome(name, played) -> dict[str, str]:
    try:
        await played
    except Exception as exc:  # noqa: BLE001 - whatever it is, it is what this call gave
        return {"call": name, "error": f"{type(exc).__name__}: {exc}"}
    return {"call": name}


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
