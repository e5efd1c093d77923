// Against a running service: KEEPWORD_URL names it, KEEPWORD_KEY is an unbound admin's key.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Client, errors } from "../dist/index.js";

const url = process.env.KEEPWORD_URL;
const kw = new Client(url, { key: process.env.KEEPWORD_KEY });
const name = (what) => `${what}-${Math.random().toString(36).slice(2)}`;

/** Return what a call gives as soon as it gives something: turns are kept after the answer was sent. */
async function eventually(call) {
  for (let tries = 0; tries < 200; tries += 1) {
    const value = await call();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("nothing came");
}

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

test("keys, failed jobs and the audit, for the tenant's owner", async () => {
  const made = await kw.keys.make("reader", { user: "ann", expires: "1d" });
  assert.ok((await kw.keys.list()).keys.some((one) => one.id === made.id));
  const reader = new Client(url, { key: made.secret });
  assert.equal((await reader.whoami()).role, "reader");
  await assert.rejects(reader.keys.list(), errors.Forbidden);
  await kw.keys.revoke(made.id);
  await assert.rejects(reader.whoami(), errors.Unauthenticated);
  assert.deepEqual((await kw.jobs.failed()).jobs, []);
  assert.equal((await kw.jobs.retry({ dry_run: true })).retried, 0);
  assert.ok((await kw.audit.list({ action: "key" })).events.length >= 2);
  assert.ok((await kw.service()).findings.length > 0);
});

test("a message is taken back and put back, and access says who would see it", async () => {
  const talk = name("talk");
  await kw.conversations.put(talk, { agent: "helper", user: "ann" });
  const receipt = await kw.append(talk, "The code of the door is 4711.");
  const seen = async () => (await kw.access(talk, { user: "ann", agent: "helper", role: "agent", bound: "both", message: [receipt.id] })).verdicts[0]?.sees ?? false;
  assert.equal(await seen(), true);
  await kw.conversations.retract(talk, receipt.seq, { reason: "not for everybody" });
  assert.equal(await seen(), false);
  await kw.conversations.unretract(talk, receipt.seq);
  assert.equal(await seen(), true);
});

test("turns, files and items", async () => {
  const talk = name("talk");
  await kw.conversations.put(talk, { agent: "helper", user: "ann" });
  await kw.append(talk, "We paint the boat green.");
  await kw.compose(talk, "Which colour has the boat?");
  const turn = await eventually(async () => (await kw.turns.list(talk)).turns[0]);
  assert.equal((await kw.turns.get(turn.id)).turn.conversation, talk);
  const files = kw.files.of("agent", "helper");
  const path = `/memories/${name("notes")}.md`;
  const file = await files.put(path, "Boats are green.");
  await assert.rejects(files.put(path, "Boats are red.", { sha256: "0".repeat(64) }), errors.Outdated);
  assert.equal((await files.get(path)).content, "Boats are green.");
  assert.match(await files.command({ command: "view", path }), /Boats are green/);
  assert.ok((await files.list("/memories")).files.some((one) => one.path === path));
  assert.equal((await files.search("boats green")).files[0].path, file.path);
  await files.delete(path);
  assert.equal((await files.versions(path)).versions.length, 2);
  const acting = kw.acting({ agent: "helper" });
  const namespace = ["boats", name("harbour")];
  await acting.items.put(namespace, "b1", { colour: "green" });
  assert.equal((await acting.items.get(namespace, "b1")).value.colour, "green");
  assert.equal((await acting.items.search(namespace)).items[0].key, "b1");
  assert.deepEqual(await acting.items.namespaces({ prefix: namespace }), [namespace]);
  assert.equal((await acting.items.batch([{ op: "get", namespace, key: "b1" }])).length, 1);
  await acting.items.delete(namespace, "b1");
  assert.equal(await acting.items.get(namespace, "b1"), null);
  await assert.rejects(acting.items.get(["a.b"], "x"), errors.InvalidInput);
});

test("a history is uploaded, counted and imported", async () => {
  const lines = ["12/06/2026, 09:00 - Ann: The boat sails at nine.", "12/06/2026, 09:01 - Ben: I bring the bread."];
  const file = new Blob([lines.join("\n") + "\n"]);
  const options = { user: "ann", map: { Ann: "ann", Ben: "ben" }, day_first: true };
  const counted = await kw.imports.wait((await kw.imports.create("whatsapp", file, "WhatsApp Chat with Ben.txt", { ...options, dry_run: true })).id);
  assert.equal(counted.state, "checked");
  const ended = await kw.imports.wait((await kw.imports.start(counted.id)).id);
  assert.equal(ended.state, "done", JSON.stringify(ended));
  assert.ok((await kw.search("when does the boat sail?")).results[0].text.includes("nine"));
  assert.ok((await kw.imports.list()).imports.some((one) => one.id === counted.id));
  await kw.imports.delete(counted.id);
});

test("a webhook is made, changed and removed", async () => {
  const { webhook: hook, secret } = await kw.webhooks.add("https://example.com/hook", ["memory"], { name: "mine" });
  assert.ok(secret);
  assert.equal((await kw.webhooks.change(hook.id, { is_active: false })).is_active, false);
  assert.deepEqual((await kw.webhooks.deliveries(hook.id)).deliveries, []);
  await kw.webhooks.delete(hook.id);
  await assert.rejects(kw.webhooks.get(hook.id), errors.NotFound);
});
