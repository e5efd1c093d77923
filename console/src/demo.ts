// The demo's story, told through the public API in a tenant of its own; its key replaces the reader's until they leave it.

import { call, key, path, post } from "./api";

const MARK = "keepword-demo";
const NIGHT_MS = 20_000;
const LOOK_MS = 1000;

interface DemoRequest {
  method: string;
  path: string;
  body: Record<string, unknown> | null;
}
interface Demo {
  tenant: string;
  secret: string;
  is_told: boolean;
  story: DemoRequest[];
  questions: DemoRequest[];
}

// What this tab keeps of an opened demo: its key, and the one before it.
interface Mark {
  secret: string;
  before: string | null;
}

function mark(): Mark | null {
  const kept = sessionStorage.getItem(MARK);
  return kept === null ? null : (JSON.parse(kept) as Mark);
}

// Whoever signed in meanwhile is in no demo, whatever the tab kept.
export const isDemo = (): boolean => mark() !== null && mark()?.secret === key.get();

// The demo's own key goes with each request of the story: the page's may be another one by then.
const as = (secret: string): { more: Record<string, string> } => ({ more: { Authorization: `Bearer ${secret}` } });

// Opens the demo's tenant, and tells the story if it is not there; `told` hears how much of it is.
export async function openDemo(told: (done: number, of: number) => void): Promise<void> {
  const demo = await post<Demo>("/v1/demo", {});
  const before = isDemo() ? (mark()?.before ?? null) : key.get();
  sessionStorage.setItem(MARK, JSON.stringify({ secret: demo.secret, before } satisfies Mark));
  key.set(demo.secret);
  if (demo.is_told) return;
  try {
    await tell(demo, told);
  } catch (error) {
    await erase(demo.secret).catch(() => undefined);
    leaveDemo();
    throw error;
  }
}

async function tell({ secret, story, questions }: Demo, told: (done: number, of: number) => void): Promise<void> {
  const of = story.length + questions.length + 1;
  for (const [number, one] of story.entries()) {
    await make(secret, one);
    told(number + 1, of);
  }
  await night(secret);
  for (const [number, one] of questions.entries()) {
    await make(secret, one);
    told(story.length + 1 + number + 1, of);
  }
  await kept(secret, questions);
}

// Turns are kept a moment after their answers: waits until that of the last question is there, or for so long.
async function kept(secret: string, questions: DemoRequest[]): Promise<void> {
  const last = questions.filter((one) => one.path === "/v1/compose").at(-1)?.body?.["conversation"];
  const until = Date.now() + NIGHT_MS;
  while (typeof last === "string" && Date.now() < until) {
    const { turns } = await call<{ turns: unknown[] }>("GET", path("v1", "conversations", last, "turns"), as(secret));
    if (turns.length) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const make = (secret: string, { method, path, body }: DemoRequest): Promise<unknown> =>
  call(method, path, { ...as(secret), ...(body === null ? {} : { body }) });

// Memories are made once nothing was said for some seconds: waits until two looks find the same, or for so long.
async function night(secret: string): Promise<void> {
  const until = Date.now() + NIGHT_MS;
  for (let before = 0; Date.now() < until; ) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const count = (await call<{ memories: unknown[] }>("GET", "/v1/semantic", { ...as(secret), query: { limit: 200 } })).memories.length;
    if (count > 1 && count === before) return;
    before = count;
  }
}

// Goes back to the key of before; the story stays, and is there when the demo is opened again.
export function leaveDemo(): void {
  const kept = mark();
  const wasIn = isDemo();
  sessionStorage.removeItem(MARK);
  if (!wasIn) return;
  if (kept?.before) key.set(kept.before);
  else key.forget();
}

// Erases the demo's tenant, and no other: by its own key.
export async function eraseDemo(): Promise<void> {
  const kept = mark();
  if (kept !== null) await erase(kept.secret);
  leaveDemo();
}

const erase = (secret: string): Promise<unknown> => call("DELETE", "/v1/tenant", as(secret));
