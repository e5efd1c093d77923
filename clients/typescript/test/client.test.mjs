// Against a running service: KEEPWORD_URL names it, KEEPWORD_KEY is an unbound admin's key.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Client, errors } from "../dist/index.js";

const url = process.env.KEEPWORD_URL;
const kw = new Client(url, { key: process.env.KEEPWORD_KEY });
const name = (what) => `${what}-${Math.random().toString(36).slice(2)}`;

before(async () => {
  for (const user of ["ann", "ben"]) await kw.users.put(user);
});

test("what is appended is found at once, and composed", async () => {
  const trip = name("trip");
  await kw.conversations.put(trip, { agent: "helper", user: "ann", title: "Lisbon" });
  const receipt = await kw.append(trip, "We fly to Lisbon on Friday.", { event_id: "m1" });
  assert.equal((await kw.append(trip, "We fly to Lisbon on Friday.", { event_id: "m1" })).id, receipt.id);
  const found = await kw.search("when do we fly?", { conversation: trip, explain: true });
  assert.equal(found.results[0].id, receipt.id);
  assert.ok(found.results[0].why);
  const seen = await kw.compose(trip, "When is the flight?", { dry_run: true });
  assert.match(seen.text, /Lisbon on Friday/);
  assert.equal((await kw.sources([receipt.id])).length, 1);
  assert.deepEqual((await kw.conversations.messages(trip)).messages.map((one) => one.id), [receipt.id]);
  assert.equal((await kw.browse({ conversation: trip, limit: 1 })).messages.length, 1);
  assert.equal((await kw.conversations.buffer(trip)).messages.length, 1);
});

test("messages of the OpenAI API are appended as they are", async () => {
  const call = name("call");
  await kw.conversations.put(call, { agent: "helper" });
  const receipts = await kw.appendAll(call, [
    { role: "user", content: [{ type: "text", text: "Which gate?" }] },
    { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "gate", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "c1", content: "B7" },
  ]);
  assert.equal(receipts.length, 3);
});

test("places, facts, memories, landmarks, working memory and the ledger", async () => {
  const [room, talk, project] = ["room", "talk", "project"].map(name);
  await kw.rooms.put(room);
  for (const user of ["ann", "ben"]) await kw.rooms.addUser(room, user);
  await kw.agents.put("helper", { context_window: 16000 });
  await kw.rooms.addAgent(room, "helper");
  assert.deepEqual((await kw.rooms.participants(room)).users.sort(), ["ann", "ben"]);
  await kw.conversations.put(talk, { room, agent: "helper" });
  await kw.projects.put(project);
  await kw.projects.add(project, "rooms", room);
  assert.deepEqual((await kw.projects.members(project)).rooms, [room]);
  const said = await kw.append(talk, "We ship on Monday.", { user: "ann" });
  assert.equal((await kw.landmarks.pin(talk, said.id)).text, "We ship on Monday.");
  const fact = await kw.facts.set("room", room, "release", "Monday", { type: "string" });
  await assert.rejects(kw.facts.delete("room", room, "release", { version: fact.version + 1 }), errors.Outdated);
  assert.equal((await kw.facts.get("room", room, "release")).value, "Monday");
  const memory = await kw.memories.add("ann prefers window seats.", { conversation: talk, type: "preference", user: "ann", categories: ["travel"] });
  assert.equal((await kw.memories.query({ AND: [{ category: "travel" }, { conversation: talk }] })).memories[0].id, memory.id);
  assert.equal((await kw.memories.rate(memory.id, "positive")).feedback, "positive");
  await kw.memories.delete(memory.id);
  assert.equal((await kw.memories.restore(memory.id)).state, "valid");
  assert.ok((await kw.memories.history(memory.id)).versions.length >= 3);
  await kw.working.put(talk, { budget: 1200 });
  assert.deepEqual(await kw.working.get(talk), { budget: 1200 });
  assert.deepEqual([await kw.ledger.mark(talk, "skill"), await kw.ledger.mark(talk, "skill")], [true, false]);
  assert.equal(await kw.ledger.evict(talk, "skill"), true);
  await kw.agents.putFile("helper", "SOUL.md", "Be brief.");
  assert.equal((await kw.agents.file("helper", "SOUL.md")).content, "Be brief.");
  assert.ok(await kw.stats());
});

test("places keep messages for days of their own, and what is erased is gone", async () => {
  const [room, talk, user] = ["room", "talk", "user"].map(name);
  await kw.rooms.put(room);
  assert.equal((await kw.rooms.setRetention(room, 30)).days, 30);
  await kw.users.put(user);
  await kw.conversations.put(talk, { agent: "helper", user });
  await kw.append(talk, "I like tea.");
  await kw.conversations.setRetention(talk, 7);
  assert.equal((await kw.conversations.retention(talk)).retention_days, 7);
  assert.equal((await kw.conversations.erase(talk, { dry_run: true })).counts.messages, 1);
  assert.equal((await kw.conversations.eraseMessage(talk, 1)).erased_messages, 1);
  assert.equal((await kw.users.erase(user)).kind, "user");
  await assert.rejects(kw.conversations.get(talk), errors.NotFound);
});

test("somebody else sees nothing of a direct conversation", async () => {
  const direct = await kw.conversations.put(name("direct"), { kind: "direct", user: "ann", agent: "helper" });
  const secret = name("secret");
  await kw.append(direct.external_id, `Between us: ${secret}.`);
  const ben = kw.acting({ agent: "helper", user: "ben" });
  await assert.rejects(ben.search(secret, { conversation: direct.external_id }), errors.NotFound);
  const ann = kw.acting({ agent: "helper", user: "ann" });
  assert.equal((await ann.search(secret, { conversation: direct.external_id, mode: "words" })).results.length, 1);
});

test("errors are classes with the service's words", async () => {
  await assert.rejects(kw.append(name("nowhere"), "hello"), (error) => {
    assert.ok(error instanceof errors.NotFound && error instanceof errors.KeepwordError);
    assert.equal(error.status, 404);
    assert.ok(error.requestId);
    return /no conversation/.test(error.message);
  });
  await assert.rejects(kw.search("x", { limit: 0 }), (error) => error instanceof errors.InvalidInput && error.field === "limit");
  await assert.rejects(new Client(url, { key: "kw_wrong" }).whoami(), errors.Unauthenticated);
  await assert.rejects(new Client("http://127.0.0.1:9").whoami(), errors.Unavailable);
  assert.throws(() => new Client("ftp://example"), errors.InvalidInput);
  assert.throws(() => new Client(url, { key: "päß" }), errors.Unauthenticated);
  assert.throws(() => kw.rooms.get(".."), errors.InvalidInput);
  const html = async () => new Response("<html>", { status: 502, headers: { "content-type": "text/html" } });
  await assert.rejects(new Client(url, { fetch: html }).whoami(), errors.BadAnswer);
});

test("a call that takes too long is Unavailable", async () => {
  const slow = (_, init) => new Promise((_, fail) => init.signal.addEventListener("abort", () => fail(init.signal.reason)));
  const awake = setInterval(() => {}, 1000); // the signal's own timer does not keep Node running
  await assert.rejects(new Client(url, { timeoutSeconds: 0.05, fetch: slow }).whoami(), /did not answer/);
  clearInterval(awake);
});
