// Plays the calls of npm's mem0ai client once against a service; prints a line for each.
//
//     node mem0_calls.js URL

const assert = require("node:assert");
const { randomUUID } = require("node:crypto");
const { MemoryClient } = require("mem0ai");

const url = process.argv[2];
const client = new MemoryClient({ apiKey: "local", host: url });
const userId = `npm-${randomUUID().slice(0, 8)}`;
const filters = { user_id: userId };
const pause = () => new Promise((done) => setTimeout(done, 500));
const memories = async () => (await client.getAll({ filters })).results;
const keep = async (...texts) =>
  (await client.add(texts.map((content) => ({ role: "user", content })), { userId, infer: false })).results;

const calls = {
  ping: () => client.ping(),
  add: async () => {
    const event = await client.add([{ role: "user", content: "I prefer window seats." }], { userId, metadata: { a: 1 } });
    assert.equal(event.status, "PENDING");
    for (let turn = 0; turn < 240 && (await memories()).length === 0; turn++) await pause();
    assert.match((await memories())[0].memory, /window seats/);
  },
  "add without inference": async () => assert.equal((await keep("Has two cats.", "Favorite color is blue."))[0].event, "ADD"),
  search: async () => {
    const { results } = await client.search("What is my favorite color?", { filters, topK: 3 });
    assert.equal(results[0].memory, "Favorite color is blue.");
    assert(results[0].score > 0);
  },
  "get all": async () => assert.equal((await client.getAll({ filters, page: 1, pageSize: 2 })).count, 3),
  get: async () => {
    const [first] = await memories();
    assert.equal((await client.get(first.id)).userId, userId);
  },
  update: async () => {
    const [kept] = await keep("Lives in Rome.");
    assert.equal((await client.update(kept.id, { text: "Lives in Oslo." })).memory, "Lives in Oslo.");
  },
  history: async () => {
    const kept = (await memories()).find((one) => one.memory === "Lives in Oslo.");
    assert.deepEqual((await client.history(kept.id)).map((one) => one.event), ["ADD", "UPDATE"]);
  },
  feedback: async () => client.feedback({ memoryId: (await memories())[0].id, feedback: "POSITIVE", feedbackReason: "right" }),
  "batch update": async () => {
    const kept = await keep("Batch one.", "Batch two.");
    await client.batchUpdate(kept.map(({ id }) => ({ memoryId: id, text: `Changed ${id}` })));
  },
  "batch delete": async () => {
    const gone = (await memories()).filter((one) => one.memory.startsWith("Changed"));
    assert.equal(gone.length, 2);
    await client.batchDelete(gone.map((one) => one.id));
  },
  delete: async () => {
    const [kept] = await keep("Will be gone soon.");
    await client.delete(kept.id);
    await assert.rejects(client.get(kept.id));
  },
  users: async () => assert((await client.users()).results.some((one) => one.name === userId)),
  project: async () => {
    await client.updateProject({ customInstructions: userId });
    assert.equal((await client.getProject({ fields: ["custom_instructions"] })).customInstructions, userId);
  },
  webhooks: async () => {
    const hook = { name: "crm", url: "https://example.com/a", eventTypes: ["memory_add"] };
    const { webhookId } = await client.createWebhook(hook);
    await client.updateWebhook({ ...hook, webhookId, name: "new" });
    assert.equal((await client.getWebhooks()).find((one) => one.webhookId === webhookId).name, "new");
    await client.deleteWebhook({ webhookId });
  },
  "delete all": async () => {
    await client.deleteAll({ userId });
    assert.deepEqual(await memories(), []);
  },
  "delete users": async () => {
    await keep("Once more.");
    await client.deleteUsers({ userId });
    assert.deepEqual(await memories(), []);
  },
};

(async () => {
  for (const [call, play] of Object.entries(calls)) {
    const error = await Promise.resolve(play()).then(() => undefined, (wrong) => `${wrong}`);
    console.log(JSON.stringify(error === undefined ? { call } : { call, error }));
  }
  process.exit(0);
})();
