"""Conversations with tool calls compacted end to end by a real model: what it writes, what the gate says, how long.

MODEL_URL=http://127.0.0.1:8091/v1 MINUTES=10 python bench/compaction_model.py gpt-4o-airline.json 63 115

The numbers choose conversations of tau-bench; its file is not part of the project. Days and weeks are left out: they
would ask the same model the same way once more. When the time is over the model counts as away, and quoting serves.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keepword import tokens, transcript
from keepword.access import Viewer, everything_in, grant
from keepword.compaction.compact import Compactor, describe_tool_calls
from keepword.embedding import TextIndexer
from keepword.errors import ModelAway
from keepword.llm.chat import Chat, Endpoint
from keepword.llm.port import Answer, Prompt
from keepword.model import Draft
from keepword.postgres import migrate
from keepword.postgres.embedded import Cluster
from keepword.postgres.places import PostgresConversations, PostgresPlaceLookup
from keepword.postgres.pool import Limits, Pool
from keepword.postgres.summaries import PostgresSummaries, PostgresTasks
from keepword.postgres.transcript import PostgresTranscript
from keepword.transcript import NewConversation

CONTEXT_TOKENS = int(os.environ.get("CONTEXT_TOKENS", "8192"))
TIMEOUT_SECONDS = float(os.environ.get("TIMEOUT_SECONDS", "3600"))
MINUTES = float(os.environ.get("MINUTES", "10"))
READER = TextIndexer()


class Timed:
    """The model, telling how long each answer takes, until the time is over."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.name = chat.name
        self.context_tokens = chat.context_tokens
        self._ends_at = time.perf_counter() + 60 * MINUTES

    async def ask(self, prompt: Prompt) -> Answer:
        began = time.perf_counter()
        size = tokens.count(prompt.system) + tokens.count(prompt.text)
        print(f"  asking: about {size} tokens in, at most {prompt.budget_tokens} out …", flush=True)
        try:
            async with asyncio.timeout(max(0, self._ends_at - began)):
                answer = await self._chat.ask(prompt)
        except TimeoutError as exc:
            print(f"  [no answer: the {MINUTES:g} minutes are over]", flush=True)
            raise ModelAway(f"the {MINUTES:g} minutes of this benchmark are over") from exc
        took = time.perf_counter() - began
        print(f"  [{answer.prompt_tokens} tokens in, {answer.completion_tokens} out, {took:.0f} s]", flush=True)
        return answer


def drafts(traj: list[dict[str, Any]]) -> list[Draft]:
    """Return the turns without the policy that every conversation repeats."""
    start = datetime.now(UTC) - timedelta(hours=2)
    made = []
    for minute, said in enumerate(turn for turn in traj if turn["role"] != "system"):
        at = start + timedelta(minutes=minute)
        for call in said.get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            name = call["function"]["name"]
            made.append(Draft("assistant", tool_name=name, tool_args=arguments, created_at=at))
        if said["role"] == "tool":
            made.append(Draft("tool", tool_name=said.get("name"), tool_result=said["content"], created_at=at))
        elif said.get("content"):
            made.append(Draft(said["role"], said["content"], created_at=at))
    return made


async def compact(pool: Pool, tenant: Any, model: Timed, name: str, said: list[Draft]) -> None:
    viewer, lookup, whole = Viewer(tenant, "admin"), PostgresPlaceLookup(pool), everything_in(tenant)
    wanted = NewConversation(fields={"active": False, "title": "Airline"})
    await transcript.put(lookup, PostgresConversations(pool), viewer, name, wanted)
    place = await lookup.place(tenant, name)
    await transcript.append(PostgresTranscript(pool), READER, grant(viewer, place), viewer, place, said)
    store, tasks = PostgresSummaries(pool, READER), PostgresTasks(pool, READER)
    print(f"\n# {name}: {len(said)} messages", flush=True)
    began = time.perf_counter()
    await describe_tool_calls(tasks, whole, place.conversation_id, model)
    sentences = await store.sentences(whole, place.conversation_id, 1, 10**9)
    print(f"{len(sentences)} tool sentences in {time.perf_counter() - began:.0f} s", flush=True)
    for seq, sentence in sentences.items():
        print(f"  #{seq} {sentence}")
    began = time.perf_counter()
    await Compactor(store, model).compact(whole, place.conversation_id, datetime.now(UTC))
    print(f"compacted in {time.perf_counter() - began:.0f} s", flush=True)
    for summary in await store.tree(whole, place):
        print(f"## {summary.tier}: by {Path(summary.model).name}, share {summary.share:.3f}, reason {summary.reason}")
        print(summary.content)


async def measure(conninfo: str, url: str, chosen: list[tuple[str, list[Draft]]]) -> None:
    with migrate.owner(conninfo) as owner:
        tenant = owner.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()[0]
    pool = Pool(conninfo, Limits(4, 60))
    await pool.open()
    async with Chat(Endpoint(url, "default", None, CONTEXT_TOKENS, TIMEOUT_SECONDS)) as chat:
        model = Timed(chat)
        for name, said in chosen:
            await compact(pool, tenant, model, name, said)
    await pool.close()


def main() -> None:
    url, path = os.environ.get("MODEL_URL"), Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if not url or path is None or not path.is_file():
        print("skipped: name an OpenAI-compatible API in MODEL_URL, and tau-bench's file and numbers as arguments")
        return
    data = json.loads(path.read_text(encoding="utf-8"))
    chosen = [(f"tau-{number}", drafts(data[int(number)]["traj"])) for number in sys.argv[2:]]
    root = Path(tempfile.mkdtemp(prefix="kw-bench-"))
    root.chmod(0o711)
    cluster = Cluster(root / "home")
    try:
        cluster.start()
        migrate.migrate(cluster.conninfo)
        asyncio.run(measure(cluster.conninfo, url, chosen))
    finally:
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
