// Memories: a table with filters, and each with its sources, its versions and what can be done with it.

import { useState } from "preact/hooks";
import { call, get, path, post } from "../api";
import type { ViewProps } from "../main";
import { Busy, Empty, ErrorNote, Facts, Filters, Link, More, Share, Tag, Time, ToMessage } from "../parts";
import { act, mayWrite, said, useConversations, useLoad, useMe, usePages } from "../state";
import type { Memory, MemoryVersion, Source } from "../types";
import { Short, Words } from "../words";

const TYPES = ["fact", "preference", "decision", "correction", "task", "action"];
const STATES: [string, string][] = [
  ["", "Valid"],
  ["superseded", "Superseded"],
  ["expired", "Expired"],
  ["deleted", "Deleted"],
  ["any", "Any"],
];

type Tree = Record<string, unknown>;

export function filtersOf(query: Record<string, string>): Tree {
  const tree: Tree = {};
  for (const name of ["type", "user", "agent", "place", "category", "id"]) {
    if (query[name]) tree[name] = query[name];
  }
  if (query["text"]) tree["content"] = { contains: query["text"] };
  if (query["since"]) tree["said_at"] = { gte: query["since"] };
  if (query["state"] === "any") tree["state"] = { in: ["valid", "superseded", "expired", "deleted"] };
  else if (query["state"]) tree["state"] = query["state"];
  return tree;
}

const inPlace = (query: Record<string, string>): Tree => (query["conversation"] ? { conversation: query["conversation"] } : {});

export function Memories({ query }: ViewProps) {
  const me = useMe();
  const places = useConversations();
  const needsPlace = !me.owner && !query["conversation"];
  const wanted = JSON.stringify([filtersOf(query), query["conversation"]]);
  const pages = usePages<Memory>(
    needsPlace
      ? null
      : async (cursor, signal) => {
          const page = await post<{ memories: Memory[]; next: string | null }>("/v1/query/semantic", { filters: filtersOf(query), limit: 100, ...inPlace(query), ...(cursor ? { cursor } : {}) }, {}, signal);
          return { items: page.memories, next: page.next };
        },
    [wanted, needsPlace],
  );
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const open = query["memory"];
  const toggle = (id: string) => choose(new Set(chosen.has(id) ? [...chosen].filter((one) => one !== id) : [...chosen, id]));
  return (
    <>
      <Filters
        view="memories"
        query={query}
        fields={[
          { name: "text", label: "Text has", type: "search", long: true },
          { name: "state", label: "State", options: STATES },
          { name: "type", label: "Type", options: [["", "All"], ...TYPES.map((one): [string, string] => [one, one])] },
          { name: "user", label: "User" },
          { name: "agent", label: "Agent" },
          { name: "place", label: "Place (run_id)", placeholder: "room:…" },
          { name: "category", label: "Category" },
          { name: "since", label: "Said since", type: "date" },
          { name: "conversation", label: "As read in", list: places.data?.map((one) => one.external_id) ?? [], placeholder: me.owner ? "the whole tenant" : "a conversation" },
        ]}
      />
      {needsPlace ? <p>Name the conversation in whose place to read: this key may not read the whole tenant.</p> : null}
      <ErrorNote error={pages.error} />
      <Busy when={pages.loading} />
      {!pages.loading && !pages.error && !needsPlace && !pages.items.length ? (
        <Empty title="No memory passes" commands={[`keepword append demo "I am allergic to walnuts." --user ann`, "keepword memories list"]}>
          <p>Memories are made a few seconds after somebody said something worth remembering, or told with <code>POST /v1/semantic</code>.</p>
        </Empty>
      ) : null}
      {mayWrite(me) && pages.items.length ? <Bulk query={query} chosen={chosen} after={() => (choose(new Set()), pages.reload())} /> : null}
      <div class={open ? "split wide" : ""}>
        {pages.items.length ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Memories">
            <table>
              <thead>
                <tr>
                  {mayWrite(me) ? (
                    <th>
                      <span class="unseen">Choose</span>
                    </th>
                  ) : null}
                  <th>Memory</th>
                  <th>Type</th>
                  <th>User</th>
                  <th>Place</th>
                  <th>Importance</th>
                  <th>Said</th>
                </tr>
              </thead>
              <tbody>
                {pages.items.map((one) => (
                  <tr key={one.id} class={one.id === open ? "chosen" : ""}>
                    {mayWrite(me) ? (
                      <td>
                        <input type="checkbox" aria-label={`Choose ${one.content.slice(0, 60)}`} checked={chosen.has(one.id)} onChange={() => toggle(one.id)} />
                      </td>
                    ) : null}
                    <td class="main">
                      <Link view="memories" query={{ ...query, memory: one.id }} current={one.id === open}>
                        <Short text={one.content} chars={200} />
                      </Link>{" "}
                      {one.state === "valid" ? null : <Tag kind="warn">{one.state}</Tag>}
                      {one.feedback ? <Tag kind={one.feedback === "positive" ? "good" : "bad"}>{one.feedback.replace("_", " ")}</Tag> : null}
                    </td>
                    <td class="narrow">{one.type}</td>
                    <td>
                      <Short text={one.user} chars={40} />
                    </td>
                    <td>
                      <Short text={one.run_id} chars={40} />
                    </td>
                    <td>
                      <Share value={one.importance} label={one.importance.toFixed(2)} /> <span class="unseen">{one.importance.toFixed(2)}</span>
                    </td>
                    <td>
                      <Time at={one.said_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <More pages={pages} />
          </div>
        ) : null}
        {open ? <Detail key={open} id={open} query={query} changed={pages.reload} /> : null}
      </div>
    </>
  );
}

const MOST_AT_ONCE = 1000;

async function idsOf(filters: Tree, where: Tree): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { memories: Memory[]; next: string | null } = await post("/v1/query/semantic", { filters, limit: 200, ...where, ...(cursor ? { cursor } : {}) });
    ids.push(...page.memories.map((one) => one.id));
    cursor = page.next;
  } while (cursor && ids.length < MOST_AT_ONCE);
  return ids;
}

// Deleting many: always counted first.
function Bulk({ query, chosen, after }: { query: Record<string, string>; chosen: ReadonlySet<string>; after: () => void }) {
  const [plan, set] = useState<{ filters: Tree; matched: number; ids: string[] | null } | null>(null);
  const [error, fail] = useState<string | null>(null);
  const count = async (filters: Tree, ids: string[] | null) => {
    fail(null);
    try {
      const { matched } = await post<{ matched: number }>("/v1/delete/semantic", { filters, dry_run: true, ...inPlace(query) });
      set({ filters, matched, ids });
    } catch (problem) {
      fail(said(problem));
    }
  };
  const ids = [...chosen];
  const filters = filtersOf(query);
  const remove = async (chosen: { filters: Tree; matched: number; ids: string[] | null }) => {
    try {
      // read before they go, so that there is a way back
      const those = chosen.ids ?? (chosen.matched <= MOST_AT_ONCE ? await idsOf(chosen.filters, inPlace(query)) : null);
      await act(`${chosen.matched} memories deleted`, () => post("/v1/delete/semantic", { filters: chosen.filters, ...inPlace(query) }), after, those ? restore(those) : undefined);
    } catch (problem) {
      fail(said(problem));
    }
  };
  const restore = (those: string[]) => async () => {
    for (const id of those) await call("POST", path("v1", "semantic", id, "restore"), { query: inPlace(query) as Record<string, string> });
  };
  return (
    <div class="bar">
      <button type="button" disabled={!ids.length} onClick={() => void count({ id: { in: ids } }, ids)}>
        Delete the chosen ({ids.length}) …
      </button>
      <button type="button" disabled={!Object.keys(filters).length} onClick={() => void count(filters, null)}>
        Delete all that pass …
      </button>
      <ErrorNote error={error} />
      {plan ? (
        <span role="alertdialog" aria-label="Delete memories" class="confirm">
          A dry run says: {plan.matched} would be deleted{plan.matched > MOST_AT_ONCE ? ", 1,000 at a time and without an undo" : ""}.{" "}
          <button
            type="button"
            class="danger"
            disabled={!plan.matched}
            onClick={() => {
              set(null);
              void remove(plan);
            }}
          >
            Delete
          </button>{" "}
          <button type="button" onClick={() => set(null)}>
            Keep
          </button>
        </span>
      ) : null}
    </div>
  );
}

function Detail({ id, query, changed }: { id: string; query: Record<string, string>; changed: () => void }) {
  const me = useMe();
  const where = { conversation: query["conversation"] };
  const one = useLoad(async (signal) => {
    const filters = { id, state: { in: ["valid", "superseded", "expired", "deleted"] } };
    const page = await post<{ memories: Memory[] }>("/v1/query/semantic", { filters, ...inPlace(query) }, {}, signal);
    // one that is deleted is not read any more, but its history is
    return page.memories[0] ?? get<Memory>(path("v1", "semantic", id), where, {}, signal);
  }, [id]);
  const history = useLoad((signal) => get<{ versions: MemoryVersion[] }>(path("v1", "semantic", id, "history"), { limit: 200, ...where }, {}, signal), [id, one.data?.version, one.data?.state]);
  const memory = one.data;
  const refresh = () => (one.reload(), history.reload(), changed());
  const close = (
    <Link view="memories" query={{ ...query, memory: undefined }} class="button">
      Close
    </Link>
  );
  if (!memory)
    return (
      <aside class="detail" aria-label="Memory">
        {close}
        <Busy when={one.loading} />
        <ErrorNote error={one.error} />
      </aside>
    );
  const at = path("v1", "semantic", id);
  const change = (body: Tree) => call("PATCH", at, { query: where, body });
  const remove = () => call("DELETE", at, { query: where });
  const restore = () => call("POST", path("v1", "semantic", id, "restore"), { query: where });
  const rate = (feedback: string | null) => call("PUT", path("v1", "semantic", id, "feedback"), { query: where, body: { feedback } });
  return (
    <aside class="detail" aria-label="Memory">
      <div class="bar">
        <h2>
          {memory.type} <Tag kind={memory.state === "valid" ? "good" : "warn"}>{memory.state}</Tag>
        </h2>
        {close}
      </div>
      <Editable memory={memory} may={mayWrite(me) && memory.state === "valid"} save={(content) => act("Memory changed", () => change({ content }), refresh, () => change({ content: memory.content }))} />
      {mayWrite(me) ? (
        <div class="bar">
          {memory.state === "deleted" ? (
            <button type="button" onClick={() => void act("Memory restored", restore, refresh, remove)}>
              Restore
            </button>
          ) : (
            <button type="button" class="danger" onClick={() => void act("Memory deleted", remove, refresh, restore)}>
              Delete
            </button>
          )}
          <span>Helpful?</span>
          {[
            ["positive", "Yes"],
            ["negative", "No"],
            ["very_negative", "Wrong"],
          ].map(([value, label]) => (
            <button
              type="button"
              key={value}
              aria-pressed={memory.feedback === value}
              disabled={memory.state === "deleted"}
              onClick={() => void act("Feedback kept", () => rate(memory.feedback === value ? null : (value ?? null)), refresh, () => rate(memory.feedback))}
            >
              {label}
            </button>
          ))}
        </div>
      ) : null}
      <h3>Valid</h3>
      <Validity memory={memory} />
      <h3>Said in</h3>
      <SourcesOf memory={memory} conversation={query["conversation"]} />
      <Facts
        rows={[
          ["User", memory.user ? <Short text={memory.user} /> : null],
          ["Agent", memory.agent ? <Short text={memory.agent} /> : null],
          ["Place", <Short text={memory.run_id} />],
          ["Conversation", memory.conversation ? <Link view="transcript" query={{ conversation: memory.conversation }}><Short text={memory.conversation} /></Link> : null],
          ["Importance", memory.importance.toFixed(2)],
          ["Confidence", memory.confidence.toFixed(2)],
          ["Said", `${memory.times} ${memory.times === 1 ? "time" : "times"}`],
          ["Found by", memory.model],
          ["Categories", memory.categories.length ? <Short text={memory.categories.join(", ")} /> : null],
          ["Expires", memory.expires_at ? <Time at={memory.expires_at} /> : null],
          ["Metadata", Object.keys(memory.metadata).length ? <Words text={JSON.stringify(memory.metadata, null, 2)} /> : null],
          ["Id", <code>{memory.id}</code>],
        ]}
      />
      <Chain memory={memory} query={query} />
      <h3>History</h3>
      <ErrorNote error={history.error} />
      <Versions versions={history.data?.versions ?? []} />
    </aside>
  );
}

function Editable({ memory, may, save }: { memory: Memory; may: boolean; save: (content: string) => Promise<boolean> }) {
  const [draft, set] = useState<string | null>(null);
  if (draft === null)
    return (
      <>
        <div class="quote">
          <Words text={memory.content} />
        </div>
        {may ? (
          <button type="button" onClick={() => set(memory.content)}>
            Edit
          </button>
        ) : null}
      </>
    );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save(draft).then((done) => done && set(null));
      }}
    >
      <label>
        <span>Memory</span>
        <textarea rows={4} value={draft} onInput={(event) => set(event.currentTarget.value)} />
      </label>
      <div class="bar">
        <button type="submit" class="primary" disabled={!draft.trim() || draft === memory.content}>
          Save
        </button>
        <button type="button" onClick={() => set(null)}>
          Cancel
        </button>
      </div>
    </form>
  );
}

// From when to when it was true, on a line that ends today.
function Validity({ memory }: { memory: Memory }) {
  const first = Date.parse(memory.valid_from);
  const now = Date.now();
  const last = memory.valid_to ? Date.parse(memory.valid_to) : now;
  const start = Math.min(first, Date.parse(memory.said_at));
  const span = Math.max(1, now - start);
  const percent = (at: number) => `${Math.max(0, Math.min(100, (100 * (at - start)) / span))}%`;
  return (
    <div class="validity">
      <div class="track" role="img" aria-label={memory.valid_to ? "It is not valid any more" : "It is valid now"}>
        <span class={memory.valid_to ? "span ended" : "span"} style={{ left: percent(first), width: `${Math.max(2, (100 * (last - first)) / span)}%` }} />
      </div>
      <p class="dim ends">
        <Time at={memory.valid_from} />
        {memory.valid_to ? <Time at={memory.valid_to} /> : <span>now</span>}
      </p>
    </div>
  );
}

export function SourcesOf({ memory, conversation }: { memory: Memory; conversation: string | undefined }) {
  const ids = memory.sources.slice(0, 100);
  const found = useLoad(ids.length ? (signal) => get<{ sources: Source[] }>("/v1/sources", { id: ids, conversation: conversation ?? memory.conversation }, {}, signal) : null, [memory.id, memory.version]);
  if (!ids.length) return <p class="dim">Told by a caller; no message says it.</p>;
  return (
    <>
      <Busy when={found.loading} />
      <ErrorNote error={found.error} />
      <ul class="lines">
        {found.data?.sources.map((one) => (
          <li key={one.id}>
            <Words text={one.text} chars={500} />
            <p class="why">
              <Short text={one.user ?? one.agent ?? one.role} chars={40} />
              <Time at={one.created_at} />
              {one.conversation ? (
                <ToMessage conversation={one.conversation} seq={one.seq}>
                  <Short text={one.conversation} chars={40} /> #{one.seq}
                </ToMessage>
              ) : null}
            </p>
          </li>
        ))}
      </ul>
      {found.data && found.data.sources.length < ids.length ? <p class="dim">{ids.length - found.data.sources.length} of its sources may not be read here.</p> : null}
    </>
  );
}

// What it replaced, and what replaced it, oldest first.
function Chain({ memory, query }: { memory: Memory; query: Record<string, string> }) {
  const chain = useLoad((signal) => readChain(memory, query, signal), [memory.id, memory.version]);
  if (!chain.data || chain.data.length < 2) return <ErrorNote error={chain.error} />;
  return (
    <>
      <h3>One after the other</h3>
      <ol class="chain">
        {chain.data.map((one) => (
          <li key={one.id} class={one.id === memory.id ? "chosen" : ""}>
            <Link view="memories" query={{ ...query, memory: one.id }}>
              <Short text={one.content} chars={200} />
            </Link>
            <span class="dim">
              <Time at={one.valid_from} /> {one.valid_to ? "until" : "until now"} {one.valid_to ? <Time at={one.valid_to} /> : null}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

async function readChain(memory: Memory, query: Record<string, string>, signal: AbortSignal): Promise<Memory[]> {
  const seen = new Map([[memory.id, memory]]);
  const where = inPlace(query);
  const read = async (filters: Tree) => (await post<{ memories: Memory[] }>("/v1/query/semantic", { filters, limit: 200, ...where }, {}, signal)).memories;
  for (let next = memory.superseded_by; next && !seen.has(next); ) {
    const [one] = await read({ id: next, state: { in: ["valid", "superseded", "expired"] } });
    if (!one) break;
    seen.set(one.id, one);
    next = one.superseded_by;
  }
  // what it replaced said the same kind of thing in the same place
  const before = await read({ place: memory.run_id, state: "superseded" });
  for (let found = true; found; ) {
    const more = before.filter((one) => one.superseded_by && seen.has(one.superseded_by) && !seen.has(one.id));
    for (const one of more) seen.set(one.id, one);
    found = more.length > 0;
  }
  return [...seen.values()].sort((one, other) => one.valid_from.localeCompare(other.valid_from));
}

function Versions({ versions }: { versions: MemoryVersion[] }) {
  return (
    <ol class="versions">
      {versions.map((one, number) => {
        const before = versions[number + 1];
        return (
          <li key={one.version}>
            <p>
              <Tag>{one.event}</Tag> version {one.version} · <Time at={one.written_at} />
              {one.by ? (
                <>
                  {" · by "}
                  <Short text={one.by} chars={40} />
                </>
              ) : null}
            </p>
            {before && before.content !== one.content ? <Diff before={before.content} after={one.content} /> : null}
            {!before ? <Words text={one.content} chars={300} /> : null}
          </li>
        );
      })}
    </ol>
  );
}

// What is the same at both ends is shown plainly, what differs between as taken away and added.
export function Diff({ before, after }: { before: string; after: string }) {
  const old = before.split(/(\s+)/);
  const now = after.split(/(\s+)/);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const part = (words: string[], from: number, to: number) => words.slice(from, to).join("");
  return (
    <div class="diff">
      <Short text={part(old, 0, start)} chars={2000} />{" "}
      <del>
        <Short text={part(old, start, old.length - end)} chars={2000} />
      </del>{" "}
      <ins>
        <Short text={part(now, start, now.length - end)} chars={2000} />
      </ins>{" "}
      <Short text={part(now, now.length - end, now.length)} chars={2000} />
    </div>
  );
}

