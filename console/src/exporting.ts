// What is stored about a person, read page by page with the reader's own key, as a file.

import { get, path, post, type Query } from "./api";

type Row = Record<string, unknown>;

async function all(address: string, name: string, query: Query, told: (count: number) => void, signal: AbortSignal): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: Row & { next: string | null } = await get(address, { ...query, limit: 200, cursor }, {}, signal);
    rows.push(...(page[name] as Row[]));
    told(rows.length);
    cursor = page.next;
  } while (cursor);
  return rows;
}

// Profile, facts with their versions, memories in any state, conversations of theirs, and all that they said anywhere.
export async function personAsJson(user: string, told: (text: string) => void, signal: AbortSignal): Promise<string> {
  const says = (what: string) => (count: number) => told(`${what}: ${count.toLocaleString()}`);
  const profile = await get<Row>("/v1/memories", { "filter[membership]": user, "filter[type]": "user" }, {}, signal);
  const facts = await all(path("v1", "facts", "user", user), "facts", {}, says("facts"), signal);
  for (const fact of facts) fact["versions"] = await all(`${path("v1", "facts", "user", user)}/${encodeURIComponent(String(fact["key"]))}/history`, "versions", {}, () => undefined, signal);
  const memories: Row[] = [];
  for (let cursor: string | null = null, first = true; first || cursor; first = false) {
    const filters = { user, state: { in: ["valid", "superseded", "expired", "deleted"] } };
    const page: { memories: Row[]; next: string | null } = await post("/v1/query/semantic", { filters, limit: 200, ...(cursor ? { cursor } : {}) }, {}, signal);
    memories.push(...page.memories);
    says("memories")(memories.length);
    cursor = page.next;
  }
  const conversations = (await all("/v1/conversations", "conversations", {}, says("conversations looked at"), signal)).filter((one) => one["user"] === user);
  for (const one of conversations) one["messages"] = await all(path("v1", "conversations", String(one["external_id"]), "messages"), "messages", {}, says("messages"), signal);
  const own = new Set(conversations.map((one) => one["external_id"]));
  const elsewhere = (await all("/v1/browse", "messages", { user }, says("messages elsewhere"), signal)).filter((one) => !own.has(one["conversation"]));
  return JSON.stringify({ user, exported_at: new Date().toISOString(), profile, facts, memories, conversations, said_elsewhere: elsewhere }, null, 1);
}

// A file of the page's own making; its address ends with the click.
export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
