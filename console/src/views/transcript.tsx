// The transcript: conversations by place, their messages in time order, tool calls folded, landmarks in the margin.

import { useEffect, useRef } from "preact/hooks";
import { go } from "../address";
import { call, get, path, post, type Query } from "../api";
import { Erase } from "../erasing";
import type { ViewProps } from "../main";
import { Busy, Empty, ErrorNote, Facts, Filters, Link, More, Tag, Time } from "../parts";
import { act, mayWrite, useLoad, useMe, usePages } from "../state";
import type { Conversation, Landmark, Message } from "../types";
import { Short, Words, counted } from "../words";
import { Start } from "./start";

export function Transcript({ query }: ViewProps) {
  const me = useMe();
  const who = { user: query["as"], agent: query["with"] };
  const places = usePages<Conversation>(
    async (cursor, signal) => {
      const page = await get<{ conversations: Conversation[]; next: string | null }>("/v1/conversations", { limit: 100, cursor }, who, signal);
      return { items: page.conversations, next: page.next };
    },
    [JSON.stringify(who)],
  );
  const conversation = query["conversation"] ?? places.items[0]?.external_id;
  if (!places.loading && !places.error && !places.items.length && !query["conversation"] && me.owner && !query["as"]) return <Start />;
  return (
    <>
      <Filters
        view="transcript"
        query={query}
        fields={[
          { name: "conversation", label: "Conversation" },
          { name: "as", label: "As user" },
          { name: "with", label: "With agent" },
          { name: "role", label: "Role", options: [["", "All"], ["user", "user"], ["assistant", "assistant"], ["tool", "tool"], ["system", "system"]] },
          { name: "since", label: "Since", type: "date" },
        ]}
      />
      <ErrorNote error={places.error} />
      <Busy when={places.loading} />
      <div class="split">
        <nav class="list" aria-label="Conversations">
          <ul>
            {places.items.map((one) => (
              <li key={one.id}>
                <Link view="transcript" query={{ ...query, conversation: one.external_id, seq: undefined }} current={one.external_id === conversation} class="row">
                  <Short text={one.title ?? one.external_id} chars={60} />
                  <span class="dim">
                    {one.kind}
                    {one.room ? ` ${one.room}` : ""} {one.project ? `· ${one.project} ` : ""}· {counted(one.message_count, "message")}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
          <More pages={places} />
        </nav>
        <section aria-label="Messages" class="detail">
          {conversation ? <Talk key={conversation} conversation={conversation} query={query} viewer={who} erased={() => (places.reload(), go("transcript"))} /> : null}
        </section>
      </div>
    </>
  );
}

interface TalkProps {
  conversation: string;
  query: Record<string, string>;
  viewer: { user?: string | undefined; agent?: string | undefined };
  erased: () => void;
}

function Talk({ conversation, query, viewer, erased }: TalkProps) {
  const me = useMe();
  const about = useLoad((signal) => get<Conversation>(path("v1", "conversations", conversation), {}, viewer, signal), [conversation]);
  const seq = Number(query["seq"]) || null;
  const filters: Query = { role: query["role"], since: query["since"] };
  const messages = usePages<Message>(
    async (cursor, signal) => {
      const page = await get<{ messages: Message[]; next: string | null }>(path("v1", "conversations", conversation, "messages"), { limit: 100, cursor, ...filters }, viewer, signal);
      return { items: page.messages, next: page.next };
    },
    [conversation, JSON.stringify([filters, viewer])],
  );
  const landmarks = useLoad((signal) => readLandmarks(conversation, viewer, signal), [conversation, JSON.stringify(viewer)]);
  const pinned = new Map<string, Landmark[]>();
  for (const one of landmarks.data ?? []) pinned.set(one.message, [...(pinned.get(one.message) ?? []), one]);
  // a message that is asked for may stand on a later page
  const last = messages.items.at(-1)?.seq ?? 0;
  useEffect(() => {
    if (seq && seq > last && messages.next) messages.more();
  }, [seq, last, messages.next]);
  return (
    <>
      {about.data ? (
        <>
          <h2>
            <Short text={about.data.title ?? conversation} chars={80} /> <Tag>{about.data.kind}</Tag>
          </h2>
          <Facts
            rows={[
              ["Conversation", <Short text={conversation} chars={80} />],
              ["Place", <Short text={about.data.run_id} chars={80} />],
              ["User", about.data.user ? <Short text={about.data.user} /> : null],
              ["Agent", <Short text={about.data.agent} />],
              ["Project", about.data.project ? <Short text={about.data.project} /> : null],
            ]}
          />
          <p class="bar">
            <Link view="turns" query={{ conversation }}>What the agent saw</Link>
            <Link view="summaries" query={{ conversation }}>Summaries</Link>
            <Link view="memories" query={{ place: about.data.run_id }}>Memories</Link>
          </p>
          {mayWrite(me) && !viewer.user && !viewer.agent ? <Erase what="this conversation" name={conversation} at={path("v1", "conversations", conversation)} erased={erased} /> : null}
        </>
      ) : null}
      <ErrorNote error={about.error ?? messages.error} />
      <Busy when={messages.loading} />
      {!messages.loading && !messages.error && !messages.items.length ? <Empty title="Nothing is said here" commands={[`keepword append ${conversation} "Hello."`]} /> : null}
      <ol class="talk">
        {messages.items.map((one, number) => (
          <Said
            key={one.id}
            message={one}
            before={messages.items[number - 1]}
            marks={pinned.get(one.id) ?? []}
            chosen={one.seq === seq}
            changed={mayWrite(me) && !viewer.user && !viewer.agent ? messages.reload : null}
            pin={mayWrite(me) && !viewer.user && !viewer.agent ? landmarks.reload : null}
          />
        ))}
      </ol>
      <More pages={messages} />
    </>
  );
}

async function readLandmarks(conversation: string, viewer: { user?: string | undefined; agent?: string | undefined }, signal: AbortSignal): Promise<Landmark[]> {
  const found: Landmark[] = [];
  let cursor: string | null = null;
  do {
    const page: { landmarks: Landmark[]; next: string | null } = await get("/v1/landmarks", { conversation, limit: 200, cursor }, viewer, signal);
    found.push(...page.landmarks);
    cursor = page.next;
  } while (cursor && found.length < 1000);
  return found;
}

interface SaidProps {
  message: Message;
  before: Message | undefined;
  marks: Landmark[];
  chosen: boolean;
  pin: (() => void) | null;
  changed: (() => void) | null;
}

function Said({ message, before, marks, chosen, pin, changed }: SaidProps) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) row.current?.scrollIntoView({ block: "center" });
  }, [chosen]);
  const day = message.created_at.slice(0, 10);
  const gap = before && message.seq > before.seq + 1 ? message.seq - before.seq - 1 : 0;
  const isTool = message.tool_name !== null || message.role === "tool";
  const body = { conversation: message.conversation, message: message.id, kind: "pin" };
  let pinnedAs = "";
  const retraction = path("v1", "conversations", message.conversation, "messages", String(message.seq), "retract");
  const takeBack = () => call("POST", retraction, { body: {} });
  const giveBack = () => call("DELETE", retraction);
  const put = async () => void (pinnedAs = (await post<Landmark>("/v1/landmarks", body)).id);
  return (
    <>
      {before?.created_at.slice(0, 10) !== day ? <li class="day">{day}</li> : null}
      {gap ? <li class="dim">{gap} messages between are not shown here</li> : null}
      <li ref={row} class={`said of-role-${message.role}${chosen ? " chosen" : ""}${message.retracted ? " gone" : ""}`}>
        <p class="why">
          <strong>
            <Short text={message.role === "user" ? (message.user ?? "user") : (message.agent ?? message.role)} chars={40} />
          </strong>
          <Tag>{message.role}</Tag>
          {message.retracted ? <Tag kind="warn">{message.retracted.erased_at ? "erased" : "retracted"}</Tag> : null}
          {message.retracted?.reason ? <Short text={message.retracted.reason} chars={100} /> : null}
          <span>#{message.seq}</span>
          <Time at={message.created_at} />
          {pin ? (
            <button type="button" class="small" onClick={() => void act("Pinned", put, pin, () => call("DELETE", path("v1", "landmarks", pinnedAs)))}>
              Pin
            </button>
          ) : null}
          {changed && !message.retracted?.erased_at ? (
            <button type="button" class="small" onClick={() => void (message.retracted ? act("Shown again", giveBack, changed, takeBack) : act("Taken back", takeBack, changed, giveBack))}>
              {message.retracted ? "Undo the retraction" : "Retract"}
            </button>
          ) : null}
        </p>
        {marks.map((one) => (
          <p key={one.id} class="mark">
            <Tag kind="good">{one.kind}</Tag> {one.text === message.content ? "pinned whole" : <Short text={one.text} chars={160} />}
          </p>
        ))}
        {message.content ? <Words text={message.content} /> : null}
        {isTool ? (
          <details>
            <summary>
              {message.tool_result === null ? "Called" : "Result of"} <Short text={message.tool_name ?? "a tool"} chars={60} />
            </summary>
            {message.tool_args !== null ? <Words text={JSON.stringify(message.tool_args, null, 2)} /> : null}
            {message.tool_result !== null ? <Words text={message.tool_result} /> : null}
          </details>
        ) : null}
        {message.attachments.length ? (
          <details>
            <summary>{message.attachments.length} attached</summary>
            <Words text={JSON.stringify(message.attachments, null, 2)} />
          </details>
        ) : null}
      </li>
    </>
  );
}
