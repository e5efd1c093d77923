// Try extraction: paste a talk, see what rules and model would keep of it, and what would be refused. Nothing is stored.

import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../address";
import { post } from "../api";
import type { ViewProps } from "../main";
import { Busy, ErrorNote, Tag } from "../parts";
import { said } from "../state";
import { Short, Words, counted } from "../words";

interface Tried {
  messages: { number: number; role: string; user: string | null; agent: string | null; text: string; secrets: number }[];
  memories: TriedMemory[];
  landmarks: { message: number; kind: string; text: string }[];
  passed_over: { message: number; text: string; reason: string }[];
  thrown_out: { type: string; text: string; sources: number[]; offending: string[] }[];
  model: string;
  reason: string | null;
  is_cut: boolean;
}

interface TriedMemory {
  number: number;
  type: string;
  text: string;
  importance: number;
  confidence: number;
  user: string | null;
  said_by: string;
  found_by: string;
  sources: number[];
  outcome: "kept" | "merged" | "superseded";
  other: number | null;
}

const EXAMPLE = `Ann: I moved to Oslo in May, and I'm allergic to walnuts.
Assistant: Noted. Shall I book a table?
Ann: Maybe. Could you ask Ben?
Ben: Decision: we fly on 3 June.
Ben: Actually, we fly on 4 June.
Ann: The door code is 4711.`;
const REASONS: Record<string, string> = {
  secret: "it holds a secret",
  question: "it asks",
  guess: "it guesses, wishes or supposes",
  reported: "it tells what others say",
  "points elsewhere": "it points at what was said or shown before",
  "too long": "it is too long for one statement",
};

// what was pasted stays while other views are looked at, in this page alone
let pasted = "";
let last: Tried | null = null;

export function Try({ query }: ViewProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [tried, set] = useState<Tried | null>(last);
  const [error, fail] = useState<string | null>(null);
  const [busy, wait] = useState(false);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async () => {
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    fail(null);
    wait(true);
    const { user, agent, model, agents } = query;
    const body = { text: pasted, ...(user ? { user } : {}), ...(agent ? { agent } : {}), ...(model ? { model: true } : {}), ...(agents ? { agents_word: true } : {}) };
    try {
      last = await post<Tried>("/v1/try/extraction", body, {}, mine.signal);
      set(last);
    } catch (problem) {
      if (!mine.signal.aborted) fail(said(problem));
    }
    if (!mine.signal.aborted) wait(false);
  };
  const choose = (name: string, value: string) => go("try", { ...query, [name]: value || undefined }, true);
  return (
    <>
      <p>Paste a talk, and see what would be remembered of it. Nothing of it is stored.</p>
      <form
        class="try"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <label>
          <span>Talk: lines such as “Ann: I moved to Oslo.”, or the words of one person</span>
          <textarea
            ref={field}
            rows={10}
            defaultValue={pasted}
            spellcheck={false}
            onInput={(event) => (pasted = event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && void run()}
          />
        </label>
        <div class="filters">
          <label>
            <span>Who speaks before the first name</span>
            <input value={query["user"] ?? ""} placeholder="user" autocomplete="off" onChange={(event) => choose("user", event.currentTarget.value)} />
          </label>
          <label>
            <span>The agent's name</span>
            <input value={query["agent"] ?? ""} placeholder="assistant" autocomplete="off" onChange={(event) => choose("agent", event.currentTarget.value)} />
          </label>
          <label class="check">
            <input type="checkbox" checked={Boolean(query["agents"])} onChange={(event) => choose("agents", event.currentTarget.checked ? "1" : "")} /> Also what agents say
          </label>
          <label class="check">
            <input type="checkbox" checked={Boolean(query["model"])} onChange={(event) => choose("model", event.currentTarget.checked ? "1" : "")} /> Also ask the language model
          </label>
        </div>
        <div class="bar">
          <button type="submit" class="primary" disabled={busy}>
            Try
          </button>
          <button
            type="button"
            onClick={() => {
              pasted = EXAMPLE;
              if (field.current) field.current.value = EXAMPLE;
              void run();
            }}
          >
            Try an example
          </button>
          <span class="dim">Ctrl and Enter try as well.</span>
        </div>
      </form>
      <ErrorNote error={error} />
      <Busy when={busy} />
      {tried && !busy ? <Report tried={tried} /> : null}
    </>
  );
}

function Report({ tried }: { tried: Tried }) {
  const kept = tried.memories.filter((one) => one.outcome === "kept").length;
  const secrets = tried.messages.reduce((sum, one) => sum + one.secrets, 0);
  const of = (numbers: number[]) => numbers.map((number) => `#${number}`).join(", ");
  return (
    <>
      <p role="status">
        {counted(tried.messages.length, "message")}, {counted(kept, "memory").replace("memorys", "memories")} kept, {counted(tried.landmarks.length, "landmark")}, {counted(secrets, "secret")} hidden. Read by{" "}
        {tried.model === "rules" ? "the rules" : <>the rules and <Short text={tried.model} chars={60} /></>}.
      </p>
      {tried.reason ? <ErrorNote error={`The model did not read all: ${tried.reason}`} /> : null}
      {tried.is_cut ? <ErrorNote error={`Only the first ${tried.messages.length} messages were read.`} /> : null}
      <div class="beside">
        <div>
          <section class="card" aria-label="Would be remembered">
            <h2>Would be remembered</h2>
            {tried.memories.length ? null : <p class="dim">Nothing: search still finds the messages themselves.</p>}
            <ul class="lines">
              {tried.memories.map((one) => (
                <li key={one.number} id={`memory-${one.number}`}>
                  <span class="dim">{one.number}.</span> <Words text={one.text} chars={500} />
                  <p class="why">
                    <Tag>{one.type}</Tag>
                    <Tag kind={one.outcome === "kept" ? "good" : "warn"}>
                      {one.outcome === "kept" ? "kept" : one.outcome === "merged" ? `says the same as ${one.other}` : `ended by ${one.other}`}
                    </Tag>
                    <span>from {of(one.sources)}</span>
                    <span>importance {one.importance.toFixed(1)}</span>
                    <span>confidence {one.confidence.toFixed(2)}</span>
                    <span>by <Short text={one.found_by} chars={40} /></span>
                    {one.said_by === "agent" ? <Tag>the agent's word</Tag> : null}
                  </p>
                </li>
              ))}
            </ul>
          </section>
          {tried.landmarks.length ? (
            <section class="card" aria-label="Landmarks">
              <h2>Pinned word for word</h2>
              <ul class="lines">
                {tried.landmarks.map((one) => (
                  <li key={`${one.message} ${one.kind}`}>
                    <Words text={one.text} chars={500} />
                    <p class="why">
                      <Tag>{one.kind}</Tag>
                      <span>from #{one.message}</span>
                    </p>
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
          {tried.thrown_out.length ? (
            <section class="card" aria-label="Thrown out">
              <h2>Thrown out of the model's</h2>
              <p class="dim">The model wrote these; what it named does not stand in its sources.</p>
              <ul class="lines">
                {tried.thrown_out.map((one, number) => (
                  <li key={number} class="gone">
                    <Words text={one.text} chars={500} />
                    <p class="why">
                      <Tag>{one.type}</Tag>
                      <span>from {of(one.sources)}</span>
                      <span>
                        {one.offending.length ? <>no source names <Short text={one.offending.join(", ")} chars={200} /></> : "most of its words are not in its sources"}
                      </span>
                    </p>
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
          {tried.passed_over.length ? (
            <section class="card" aria-label="Passed over">
              <h2>Passed over by the rules</h2>
              <ul class="lines">
                {tried.passed_over.map((one, number) => (
                  <li key={number}>
                    <Short text={one.text} chars={300} />
                    <p class="why">
                      <Tag kind={one.reason === "secret" ? "bad" : ""}>{one.reason}</Tag>
                      <span>{REASONS[one.reason] ?? ""}</span>
                      <span>#{one.message}</span>
                    </p>
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
        </div>
        <section class="card" aria-label="As it was read">
          <h2>As it was read</h2>
          <ol class="talk">
            {tried.messages.map((one) => (
              <li key={one.number} class={`said of-role-${one.role}`}>
                <p class="why">
                  <span>#{one.number}</span>
                  <strong>
                    <Short text={one.user ?? (one.role === "assistant" ? one.agent : one.role)} chars={60} />
                  </strong>
                  {one.secrets ? <Tag kind="bad">{counted(one.secrets, "secret")} hidden</Tag> : null}
                </p>
                <Words text={one.text} />
              </li>
            ))}
          </ol>
        </section>
      </div>
    </>
  );
}
