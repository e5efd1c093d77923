// What the agent saw: composed turns as they were, each line with its source, score and reason, beside the turn before.

import { useState } from "preact/hooks";
import { go } from "../address";
import { get, path, post, type Viewer } from "../api";
import type { ViewProps } from "../main";
import { Busy, Empty, ErrorNote, Filters, Link, More, Tag, Time, ToMessage } from "../parts";
import { useConversations, useLoad, useMe, usePages } from "../state";
import type { Hit, SearchResults, Source } from "../types";
import { Short, Words } from "../words";
import type { AccessReport } from "./access";
import { Start } from "./start";

interface Turn {
  id: string;
  conversation: string;
  agent: string;
  user: string | null;
  asked: string | null;
  template: string;
  recipe: string;
  reach: string | null;
  window_tokens: number;
  tokens: number;
  injected_tokens: number;
  proposed_tokens: number;
  compacted: number;
  sections: { name: string; tokens: number; lines: number }[];
  created_at: string;
}

interface Line {
  kind: string;
  id: string | null;
  tokens: number;
  score: number | null;
  reason: string | null;
  readable: boolean;
  text: string | null;
  conversation: string | null;
  seq: number | null;
  who: string | null;
  said_at: string | null;
  changed: boolean;
}

interface LeftOut {
  section: string;
  kind: string;
  count: number;
  reason: string;
  conversation: string | null;
  first_seq: number | null;
  last_seq: number | null;
}

interface TurnDetail {
  turn: Turn;
  question: Source | null;
  question_from: "asked" | "next" | null;
  previous: string | null;
  sections: { name: string; tokens: number; lines: Line[] }[];
  left_out: LeftOut[];
  degraded: string[];
}

export const SECTIONS: Record<string, string> = {
  workspace: "Workspace files",
  session: "Session context",
  facts: "Facts",
  profile: "Profile",
  recall: "Recall",
  landmarks: "Landmarks",
  summary: "Episodic summary",
  transcript: "Raw transcript",
  invocation: "Current invocation",
};

const WHY: Record<string, string> = {
  "over the budget": "its section's budget was full",
  "over the window": "it did not fit the window",
  "injected before": "the ledger says that it was given before in this conversation",
  repeated: "another line says the same",
  summarised: "a summary that is shown stands for it",
  older: "it came before the last 40 messages, and no summary covers it yet",
};

export function Turns({ query }: ViewProps) {
  const places = useConversations();
  const conversation = query["conversation"] ?? places.data?.find((one) => one.message_count > 0)?.external_id;
  const pages = usePages<Turn>(
    conversation
      ? async (cursor, signal) => {
          const page = await get<{ turns: Turn[]; next: string | null }>(path("v1", "conversations", conversation, "turns"), { limit: 50, cursor }, {}, signal);
          return { items: page.turns, next: page.next };
        }
      : null,
    [conversation],
  );
  const chosen = query["turn"] ?? pages.items[0]?.id;
  if (places.data && !places.data.length && !query["conversation"]) return <Start />;
  return (
    <>
      <Filters
        view="turns"
        query={{ ...query, conversation: conversation ?? "" }}
        fields={[{ name: "conversation", label: "Conversation", list: places.data?.map((one) => one.external_id) ?? [] }]}
      />
      <ErrorNote error={places.error ?? pages.error} />
      <Busy when={places.loading || pages.loading} />
      {!pages.loading && conversation && !pages.items.length && !pages.error ? (
        <Empty
          title="No composed turn is kept here"
          commands={[
            `curl -X POST ${location.origin}/v1/compose -H 'Content-Type: application/json' \\`,
            `     -d '${JSON.stringify({ conversation, message: "What do you know?" })}'`,
          ]}
        >
          <p>
            A turn is kept when an agent calls <code>POST /v1/compose</code>, without <code>dry_run</code>, for as many days as{" "}
            <code>KEEPWORD_TURNS_DAYS</code> says.
          </p>
        </Empty>
      ) : null}
      {pages.items.length ? (
        <div class="split">
          <section class="list" aria-label="Turns">
            <ul>
              {pages.items.map((turn) => (
                <li key={turn.id}>
                  <Link view="turns" query={{ ...query, conversation, turn: turn.id }} current={turn.id === chosen} class="row">
                    <span>
                      <Time at={turn.created_at} />
                    </span>
                    <span class="dim">
                      {turn.user ?? "somebody"} asked {turn.agent} · {turn.tokens.toLocaleString()} tokens
                    </span>
                    <Drawn turn={turn} />
                  </Link>
                </li>
              ))}
            </ul>
            <More pages={pages} />
          </section>
          <section aria-label="Turn" class="detail">
            {chosen ? <Detail id={chosen} query={{ ...query, conversation: conversation ?? "" }} /> : null}
          </section>
        </div>
      ) : null}
    </>
  );
}

// The window with its sections, each as wide as its share; of a small context the used part is drawn larger below.
function Drawn({ turn, large = false }: { turn: Turn; large?: boolean }) {
  const whole = large ? turn.window_tokens : turn.tokens;
  const parts = turn.sections.filter((one) => one.tokens > 0);
  const title = parts.map((one) => `${SECTIONS[one.name] ?? one.name}: ${one.tokens}`).join(", ");
  return (
    <span class={large ? "window large" : "window"} role="img" aria-label={`Tokens. ${title}`}>
      {parts.map((one) => (
        <span key={one.name} class={`part of-${one.name}`} style={{ width: `${(100 * one.tokens) / Math.max(1, whole)}%` }} />
      ))}
    </span>
  );
}

function Detail({ id, query }: { id: string; query: Record<string, string> }) {
  const one = useLoad((signal) => get<TurnDetail>(path("v1", "turns", id), {}, {}, signal), [id]);
  const before = one.data?.previous ?? null;
  const beside = query["beside"] === "1" && before !== null;
  const other = useLoad(beside ? (signal) => get<TurnDetail>(path("v1", "turns", before), {}, {}, signal) : null, [before, beside]);
  const detail = one.data;
  if (!detail) return <>{one.error ? <ErrorNote error={one.error} /> : <Busy when={one.loading} />}</>;
  return (
    <>
      <div class="bar">
        <h2>
          <Time at={detail.turn.created_at} />
        </h2>
        <label class="check">
          <input type="checkbox" checked={beside} disabled={!before} onChange={(event) => go("turns", { ...query, turn: id, beside: event.currentTarget.checked ? "1" : undefined }, true)} />
          Beside the turn before
        </label>
      </div>
      <ErrorNote error={other.error} />
      {other.data ? (
        <div class="beside">
          <Composed detail={other.data} against={detail} label="Before" />
          <Composed detail={detail} against={other.data} label="This turn" />
        </div>
      ) : (
        <Composed detail={detail} />
      )}
      <Withheld detail={detail} />
    </>
  );
}

const lineKey = (line: Line): string => `${line.kind}:${line.id ?? ""}`;

function Composed({ detail, against, label }: { detail: TurnDetail; against?: TurnDetail; label?: string }) {
  const { turn } = detail;
  const there = new Set(against?.sections.flatMap((section) => section.lines.map(lineKey)));
  return (
    <article aria-label={label ?? "The turn"}>
      {label ? <h3>{label}</h3> : null}
      <p class="asked">
        <strong>{turn.user ?? "Somebody"}</strong> asked <strong>{turn.agent}</strong>:{" "}
        {detail.question ? (
          <ToMessage conversation={detail.question.conversation ?? turn.conversation} seq={detail.question.seq}>
            <Short text={detail.question.text} chars={300} />
            {detail.question_from === "next" ? <span class="dim"> (the message that was stored next)</span> : null}
          </ToMessage>
        ) : (
          <span class="dim">the question was not stored as a message, or may not be read here</span>
        )}
      </p>
      <p class="dim">
        {turn.tokens.toLocaleString()} of {turn.window_tokens.toLocaleString()} tokens ({((100 * turn.tokens) / turn.window_tokens).toFixed(1)} % of the window),{" "}
        {turn.injected_tokens.toLocaleString()} injected · recipe {turn.recipe} · template {turn.template}
        {turn.reach ? ` · reads ${turn.reach === "own" ? "this session" : turn.reach === "user" ? "the user's sessions" : "the project's sessions"}` : ""}
        {turn.compacted ? ` · ${turn.compacted} messages were summarised for it` : ""}
        {turn.proposed_tokens > turn.tokens ? ` · ${turn.proposed_tokens.toLocaleString()} tokens before anything gave way` : ""}
      </p>
      <p class="dim">The window:</p>
      <Drawn turn={turn} large />
      <p class="dim">What is used of it:</p>
      <Drawn turn={turn} />
      <ul class="legend">
        {turn.sections
          .filter((one) => one.tokens)
          .map((one) => (
            <li key={one.name}>
              <span class={`dot of-${one.name}`} /> {SECTIONS[one.name] ?? one.name} {one.tokens.toLocaleString()}
            </li>
          ))}
      </ul>
      {detail.degraded.map((text) => (
        <ErrorNote key={text} error={`Not complete: ${text}`} />
      ))}
      {detail.sections
        .filter((section) => section.lines.length)
        .map((section) => (
          <details key={section.name} open={section.name !== "session" && section.name !== "workspace"}>
            <summary>
              <span class={`dot of-${section.name}`} /> {SECTIONS[section.name] ?? section.name}{" "}
              <span class="dim">
                {section.tokens.toLocaleString()} tokens, {section.lines.length} {section.lines.length === 1 ? "line" : "lines"}
              </span>
            </summary>
            <ul class="lines">
              {section.lines.map((line, number) => (
                <LineRow key={number} line={line} isNew={against !== undefined && !there.has(lineKey(line))} />
              ))}
            </ul>
          </details>
        ))}
      {detail.left_out.length ? (
        <details open>
          <summary>
            Left out <span class="dim">{detail.left_out.reduce((sum, one) => sum + one.count, 0)}</span>
          </summary>
          <ul class="lines">
            {detail.left_out.map((one, number) => (
              <li key={number}>
                <p>
                  {one.count} {one.kind}
                  {one.count === 1 ? "" : "s"} of {SECTIONS[one.section] ?? one.section}: {WHY[one.reason] ?? one.reason}
                  {one.conversation && one.first_seq ? (
                    <>
                      {" "}
                      (
                      <ToMessage conversation={one.conversation} seq={one.first_seq}>
                        #{one.first_seq} to #{one.last_seq}
                      </ToMessage>
                      )
                    </>
                  ) : null}
                </p>
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </article>
  );
}

function LineRow({ line, isNew }: { line: Line; isNew: boolean }) {
  return (
    <li class={isNew ? "new" : line.readable ? "" : "gone"}>
      {line.readable ? line.text !== null ? <Words text={line.text} chars={600} /> : <p class="dim">Described the place of the turn; not kept.</p> : <p class="dim">May not be read here any more: erased, retracted, deleted or moved since.</p>}
      <p class="why">
        {isNew ? <Tag kind="good">new</Tag> : null}
        {line.changed ? <Tag kind="warn">changed since</Tag> : null}
        <Tag>{line.kind}</Tag>
        {line.conversation ? (
          <ToMessage conversation={line.conversation} seq={line.seq}>
            <Short text={line.conversation} chars={40} />
            {line.seq ? ` #${line.seq}` : ""}
          </ToMessage>
        ) : null}
        {line.kind === "memory" && line.id ? (
          <Link view="memories" query={{ memory: line.id }}>
            the memory
          </Link>
        ) : null}
        {line.who ? <Short text={line.who} chars={60} /> : null}
        {line.said_at ? <Time at={line.said_at} /> : null}
        {line.score !== null ? <span>score {line.score.toFixed(2)}</span> : null}
        {line.reason ? <Short text={line.reason} chars={200} /> : null}
        <span>{line.tokens} tokens</span>
      </p>
    </li>
  );
}

// What comes near to the question in the whole tenant and may not be read where it was asked: for the owner alone.
function Withheld({ detail }: { detail: TurnDetail }) {
  const me = useMe();
  const [asked, ask] = useState(false);
  const question = detail.question?.text;
  const found = useLoad(asked && question ? (signal) => withheld(detail, question, signal) : null, [asked, detail.turn.id]);
  if (!me.owner || !question) return null;
  return (
    <section class="withheld">
      <h3>Withheld, though it comes near to the question</h3>
      {asked ? null : (
        <button type="button" onClick={() => ask(true)}>
          Look in the whole tenant
        </button>
      )}
      <Busy when={found.loading} />
      <ErrorNote error={found.error} />
      {found.data && !found.data.length ? <p>Nothing: all that comes near may be read there, as it stands now.</p> : null}
      <ul class="lines">
        {found.data?.map(({ hit, because }) => (
          <li key={hit.id} class="gone">
            <Words text={hit.text} chars={400} />
            <p class="why">
              <Tag kind="bad">withheld</Tag>
              {hit.conversation ? (
                <ToMessage conversation={hit.conversation} seq={hit.seq}>
                  <Short text={hit.conversation} chars={40} />
                </ToMessage>
              ) : null}
              <span>score {hit.score.toFixed(2)}</span>
              <Short text={because} chars={300} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function withheld(detail: TurnDetail, question: string, signal: AbortSignal): Promise<{ hit: Hit; because: string }[]> {
  const { turn } = detail;
  const nobody: Viewer = {};
  const found = await post<SearchResults>("/v1/search", { query: question.slice(0, 2000), kinds: ["message"], limit: 50 }, nobody, signal);
  const hits = found.results.filter((hit, number, all) => all.findIndex((one) => one.id === hit.id) === number);
  if (!hits.length) return [];
  const report = await get<AccessReport>(
    "/v1/access",
    { conversation: turn.conversation, agent: turn.agent, user: turn.user, message: hits.map((hit) => hit.id) },
    nobody,
    signal,
  );
  const refused = new Map(report.verdicts.filter((one) => !one.sees).map((one) => [one.message, one.because]));
  return hits.flatMap((hit) => (refused.has(hit.id) ? [{ hit, because: refused.get(hit.id) ?? "" }] : []));
}

