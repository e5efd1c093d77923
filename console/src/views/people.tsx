// People and agents: a person's profile line by line, facts with versions, memories and conversations; agents' files.

import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../address";
import { call, get, path, type Query } from "../api";
import { Erase } from "../erasing";
import { personAsJson, save } from "../exporting";
import type { ViewProps } from "../main";
import { Busy, ErrorNote, Facts, Filters, Link, More, Tag, Time } from "../parts";
import { act, mayWrite, said, useConversations, useLoad, useMe, usePages } from "../state";
import type { Conversation, Fact, Memory } from "../types";
import { Short, Words, counted } from "../words";
import { SourcesOf } from "./memories";

interface User {
  id: string;
  name: string | null;
  created_at: string;
}
interface Agent {
  slug: string;
  name: string | null;
  context_window: number;
}
interface Profile {
  data: { id: string; attributes: { type: string; memory: string; updated_at: string }; relationships: { membership: { data: { id: string } | null } } }[];
}
interface FactVersion {
  version: number;
  deleted: boolean;
  value: unknown;
  written_at: string;
}

export function People({ query }: ViewProps) {
  const me = useMe();
  const users = usePages<User>(me.owner ? async (cursor, signal) => {
    const page = await get<{ users: User[]; next: string | null }>("/v1/users", { limit: 100, cursor }, {}, signal);
    return { items: page.users, next: page.next };
  } : null, [me.owner]);
  const agents = usePages<Agent>(async (cursor, signal) => {
    const page = await get<{ agents: Agent[]; next: string | null }>("/v1/agents", { limit: 100, cursor }, {}, signal);
    return { items: page.agents, next: page.next };
  }, []);
  const agent = query["agent"];
  const user = query["user"] ?? (agent ? undefined : (me.user ?? users.items[0]?.id));
  return (
    <>
      {me.owner ? null : <Filters view="people" query={query} fields={[{ name: "user", label: "User" }]} />}
      <ErrorNote error={users.error ?? agents.error} />
      <Busy when={users.loading || agents.loading} />
      <div class="split">
        <nav class="list" aria-label="People and agents">
          {users.items.length ? <h2>People</h2> : null}
          <ul>
            {users.items.map((one) => (
              <li key={one.id}>
                <Link view="people" query={{ user: one.id }} current={one.id === user && !agent} class="row">
                  <Short text={one.name ?? one.id} chars={50} /> <span class="dim"><Short text={one.id} chars={50} /></span>
                </Link>
              </li>
            ))}
          </ul>
          <More pages={users} />
          {agents.items.length ? <h2>Agents</h2> : null}
          <ul>
            {agents.items.map((one) => (
              <li key={one.slug}>
                <Link view="people" query={{ agent: one.slug }} current={one.slug === agent} class="row">
                  <Short text={one.name ?? one.slug} chars={50} /> <span class="dim">window {one.context_window.toLocaleString()} tokens</span>
                </Link>
              </li>
            ))}
          </ul>
          <More pages={agents} />
        </nav>
        <section class="detail" aria-label="Details">
          {agent ? <AgentDetail key={agent} agent={agent} /> : user ? <Person key={user} user={user} erased={() => (users.reload(), go("people"))} /> : null}
          {!users.loading && !users.items.length && me.owner && !agent ? <p>Nobody was introduced yet: <code>PUT /v1/users/ann</code> makes a user, and so does the first message of one.</p> : null}
        </section>
      </div>
    </>
  );
}

function Person({ user, erased }: { user: string; erased: () => void }) {
  const me = useMe();
  const places = useConversations();
  const theirs = places.data?.filter((one) => one.user === user) ?? [];
  // only the owner reads the whole tenant; others read where they are
  const where = me.owner ? undefined : theirs[0]?.external_id;
  const profile = useLoad((signal) => get<Profile>("/v1/memories", { "filter[membership]": user, "filter[type]": "user", ...(where ? { inConversation: where } : {}) }, {}, signal), [user, where]);
  const memories = usePages<Memory>(me.owner || where ? async (cursor, signal) => {
    const page = await get<{ memories: Memory[]; next: string | null }>("/v1/semantic", { user, limit: 50, cursor, conversation: where }, {}, signal);
    return { items: page.memories, next: page.next };
  } : null, [user, where]);
  const lines = profile.data?.data[0]?.attributes.memory.split("\n").filter((line) => line.trim()) ?? [];
  return (
    <>
      <h2><Short text={user} chars={80} /></h2>
      <div class="bar">
        {me.owner ? <Export user={user} /> : null}
        {mayWrite(me) ? <Erase what="this person" name={user} at={path("v1", "users", user)} erased={erased} /> : null}
      </div>
      <h3>Profile</h3>
      <ErrorNote error={profile.error} />
      <Busy when={profile.loading} />
      {profile.data && !lines.length ? <p class="dim">No line yet. A profile is made of memories whose author a key proves, and of what an admin writes.</p> : null}
      <ul class="lines">
        {lines.map((line, number) => {
          if (!line.startsWith("- ")) return <li key={number} class="dim"><Short text={line} chars={200} /></li>;
          const memory = memories.items.find((one) => one.content === line.replace(/^- /, ""));
          return (
            <li key={number}>
              <Words text={line.slice(2)} />
              {memory ? <details><summary>Said in</summary><SourcesOf memory={memory} conversation={where} /></details> : <p class="dim">written by hand, or said where the list below does not reach</p>}
            </li>
          );
        })}
      </ul>
      <h3>Facts</h3>
      <FactsOf kind="user" id={user} conversation={where} />
      <h3>Memories</h3>
      <ErrorNote error={memories.error} />
      <ul class="lines">
        {memories.items.map((one) => (
          <li key={one.id}>
            <Link view="memories" query={{ memory: one.id, user, conversation: where }}><Short text={one.content} chars={200} /></Link>
            <p class="why"><Tag>{one.type}</Tag><Short text={one.run_id} chars={40} /><Time at={one.said_at} /></p>
          </li>
        ))}
      </ul>
      <More pages={memories} />
      <h3>Conversations</h3>
      <ul class="lines">
        {theirs.map((one: Conversation) => (
          <li key={one.id}>
            <Link view="transcript" query={{ conversation: one.external_id }}><Short text={one.title ?? one.external_id} chars={80} /></Link>{" "}
            <span class="dim">{one.kind}, {counted(one.message_count, "message")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

// All that is stored about a person, as a file that is made in this page.
function Export({ user }: { user: string }) {
  const [told, tell] = useState<string | null>(null);
  const [error, fail] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async () => {
    const { signal } = (stop.current = new AbortController());
    fail(null);
    tell("…");
    try {
      save(`${user.replace(/[^\w.-]+/g, "_")}.json`, await personAsJson(user, tell, signal));
    } catch (problem) {
      if (!signal.aborted) fail(said(problem));
    }
    tell(null);
  };
  return (
    <>
      <button type="button" disabled={told !== null} onClick={() => void run()}>
        Export as a file
      </button>
      {told ? <span role="status" class="dim">{told}</span> : null}
      <ErrorNote error={error} />
    </>
  );
}

function FactsOf({ kind, id, conversation }: { kind: string; id: string; conversation: string | undefined }) {
  const me = useMe();
  const where: Query = { conversation };
  const facts = usePages<Fact>(async (cursor, signal) => {
    const page = await get<{ facts: Fact[]; next: string | null }>(path("v1", "facts", kind, id), { limit: 100, cursor, ...where }, {}, signal);
    return { items: page.facts, next: page.next };
  }, [kind, id, conversation]);
  const at = (key: string) => path("v1", "facts", kind, id, key);
  return (
    <>
      <ErrorNote error={facts.error} />
      {!facts.loading && !facts.error && !facts.items.length ? <p class="dim">No fact: <code>PUT /v1/facts/{kind}/{id}/KEY</code> writes one.</p> : null}
      <ul class="lines">
        {facts.items.map((one) => (
          <li key={one.key}>
            <p><strong><Short text={one.key} chars={100} /></strong> = <Short text={JSON.stringify(one.value)} chars={400} /></p>
            <p class="why">
              <Tag>version {one.version}</Tag><Time at={one.updated_at} />
              {mayWrite(me) ? <button type="button" class="small danger" onClick={() => void act(`Fact ${one.key} deleted`, () => call("DELETE", at(one.key), { query: where }), facts.reload, () => call("PUT", at(one.key), { query: where, body: { value: one.value, ...(one.type ? { type: one.type } : {}) } }))}>Delete</button> : null}
            </p>
            <Versions at={`${at(one.key)}/history`} where={where} />
          </li>
        ))}
      </ul>
      <More pages={facts} />
    </>
  );
}

function Versions({ at, where }: { at: string; where: Query }) {
  const [open, set] = useState(false);
  const found = useLoad(open ? (signal) => get<{ versions: FactVersion[] }>(at, where, {}, signal) : null, [at, open]);
  return (
    <details open={open} onToggle={(event) => set(event.currentTarget.open)}>
      <summary>Versions</summary>
      <ErrorNote error={found.error} />
      <Facts rows={found.data?.versions.map((one) => [`${one.version}`, <>{one.deleted ? "deleted" : <Short text={JSON.stringify(one.value)} chars={300} />} <Time at={one.written_at} /></>]) ?? []} />
    </details>
  );
}

interface AgentFile {
  name: string;
  version: number;
  content: string | null;
  written_at: string;
}

function AgentDetail({ agent }: { agent: string }) {
  const files = useLoad((signal) => get<{ files: AgentFile[] }>(path("v1", "agents", agent, "files"), { limit: 200 }, {}, signal), [agent]);
  const users = useLoad((signal) => get<{ users: { user: string; introduced_at: string }[] }>(path("v1", "agents", agent, "users"), { limit: 200 }, {}, signal), [agent]);
  return (
    <>
      <h2><Short text={agent} chars={80} /></h2>
      <h3>Its files</h3>
      <ErrorNote error={files.error && said(new Error(files.error))} />
      {files.data && !files.data.files.length ? <p class="dim">None: <code>PUT /v1/agents/{agent}/files/SOUL.md</code> writes one.</p> : null}
      {files.data?.files.map((one) => (
        <details key={one.name}>
          <summary><Short text={one.name} chars={100} /> <span class="dim">version {one.version}</span></summary>
          <Words text={one.content} />
        </details>
      ))}
      <h3>Users introduced to it</h3>
      <ErrorNote error={users.error} />
      <ul class="lines">
        {users.data?.users.map((one) => (
          <li key={one.user}><Link view="people" query={{ user: one.user }}><Short text={one.user} chars={80} /></Link> <Time at={one.introduced_at} /></li>
        ))}
      </ul>
    </>
  );
}
