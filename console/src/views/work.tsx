// Work: what waits, what failed and why, how much is covered; it looks again every few seconds.

import { useEffect, useState } from "preact/hooks";
import { get, post, send } from "../api";
import type { ViewProps } from "../main";
import { Busy, ErrorNote, More, Share, Tag, Time, ToConversation, Tree } from "../parts";
import { samples } from "../metrics";
import { act, mayWrite, said, useLoad, useMe, usePages } from "../state";
import type { Stats } from "../types";
import { Short, counted } from "../words";

const LOOK_MS = 4000;

export function Work(_: ViewProps) {
  const [live, setLive] = useState(true);
  const stats = useLoad((signal) => get<Stats>("/v1/stats", {}, {}, signal), []);
  const calls = useLoad(async (signal) => modelCalls(await (await send("GET", "/metrics", { signal })).text()), []);
  const [shown, show] = useState<Stats | null>(null);
  const failures = shown ? countFailures(shown.queues) : "";
  useEffect(() => {
    if (stats.data) show(stats.data);
  }, [stats.data]);
  useEffect(() => {
    if (!live) return undefined;
    const timer = setInterval(() => document.hidden || (stats.reload(), calls.reload()), LOOK_MS);
    return () => clearInterval(timer);
  }, [live, stats.reload, calls.reload]);
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={live} onChange={(event) => setLive(event.currentTarget.checked)} /> Look again every {LOOK_MS / 1000} s
      </label>
      <ErrorNote error={stats.error} />
      <Busy when={!shown && stats.loading} />
      {shown ? (
        <>
          <section class="card" aria-label="Alerts">
            <h2>Alerts</h2>
            {shown.alerts.length ? shown.alerts.map((text) => <ErrorNote key={text} error={text} />) : <p>None: nothing failed, and nothing waits for long.</p>}
          </section>
          <section class="card" aria-label="Queues">
            <h2>Queues</h2>
            <Queues queues={shown.queues} />
          </section>
          <Failures queues={shown.queues} state={failures} after={stats.reload} />
          <div class="cards">
            <ModelCalls calls={calls.data} error={calls.error} />
            <section class="card" aria-label="Coverage">
              <h2>Coverage of the vector spaces</h2>
              {Object.entries(shown.coverage).map(([space, one]) => (
                <p key={space}>
                  <Short text={space} chars={60} /> <Share value={one.share} /> {one.embedded.toLocaleString()} of {one.entries.toLocaleString()} entries
                </p>
              ))}
            </section>
            <section class="card" aria-label="Compaction">
              <h2>Compaction</h2>
              <Tree value={shown.compaction} />
            </section>
            <section class="card" aria-label="Census">
              <h2>What is stored</h2>
              <Tree value={shown.census} />
            </section>
          </div>
        </>
      ) : null}
    </>
  );
}

// Changes with each failure: then the list is read again.
const countFailures = (queues: Record<string, unknown>): string => JSON.stringify(Object.entries(queues).map(([name, one]) => [name, (one as { failed?: number }).failed ?? 0]));

interface FailedJob {
  id: number;
  task: string;
  conversation: string | null;
  attempts: number;
  error: string | null;
  failed_at: string | null;
}

// What was given up, and running it again: always counted first where it is more than one.
function Failures({ queues, state, after }: { queues: Record<string, unknown>; state: string; after: () => void }) {
  const me = useMe();
  const pages = usePages<FailedJob>(async (cursor, signal) => {
    const page = await get<{ jobs: FailedJob[]; next: string | null }>("/v1/jobs/failed", { limit: 50, cursor }, {}, signal);
    return { items: page.jobs, next: page.next };
  }, [state]);
  const [plan, set] = useState<{ task: string | null; count: number } | null>(null);
  const [error, fail] = useState<string | null>(null);
  const lost = Object.values(queues).reduce((sum: number, one) => sum + ("pending" in (one as object) ? 0 : ((one as { failed?: number }).failed ?? 0)), 0);
  const body = (task: string | null) => (task ? { task } : {});
  const refresh = () => (pages.reload(), after());
  const count = async (task: string | null) => {
    fail(null);
    try {
      const { retried } = await post<{ retried: number }>("/v1/jobs/retry", { ...body(task), dry_run: true });
      set({ task, count: retried });
    } catch (problem) {
      fail(said(problem));
    }
  };
  if (!pages.items.length && !lost) return <ErrorNote error={pages.error} />;
  return (
    <section class="card" aria-label="Failures">
      <div class="bar">
        <h2>Failures</h2>
        {mayWrite(me) ? (
          <>
            <button type="button" onClick={() => void count(null)}>
              Run all again …
            </button>
            {lost ? (
              <button type="button" onClick={() => void count("embed")}>
                Embed {counted(lost, "entry").replace("entrys", "entries")} again …
              </button>
            ) : null}
          </>
        ) : null}
      </div>
      {plan ? (
        <p role="alertdialog" aria-label="Run again" class="confirm">
          A dry run says: {plan.count} would run again.{" "}
          <button
            type="button"
            class="primary"
            disabled={!plan.count}
            onClick={() => {
              set(null);
              void act(`${plan.count} run again`, () => post("/v1/jobs/retry", body(plan.task)), refresh);
            }}
          >
            Run
          </button>{" "}
          <button type="button" onClick={() => set(null)}>
            Leave
          </button>
        </p>
      ) : null}
      <ErrorNote error={error ?? pages.error} />
      <ul class="lines">
        {pages.items.map((one) => (
          <li key={one.id} class="gone">
            <Short text={one.error ?? "its error was not kept"} chars={400} />
            <p class="why">
              <Tag kind="bad">{one.task}</Tag>
              {one.conversation ? <ToConversation conversation={one.conversation} /> : null}
              <span>{counted(one.attempts, "attempt")}</span>
              <Time at={one.failed_at} />
              {mayWrite(me) ? (
                <button type="button" class="small" onClick={() => void act(`Job ${one.id} runs again`, () => post("/v1/jobs/retry", { job: one.id }), refresh)}>
                  Run again
                </button>
              ) : null}
            </p>
          </li>
        ))}
      </ul>
      <More pages={pages} />
    </section>
  );
}

interface ModelCall {
  model: string;
  outcomes: [string, number][];
  tokens: [string, number][];
}

function ModelCalls({ calls, error }: { calls: ModelCall[] | null; error: string | null }) {
  return (
    <section class="card" aria-label="Model calls">
      <h2>Model calls</h2>
      <ErrorNote error={error} />
      {calls && !calls.length ? <p class="dim">None since this service started: without <code>KEEPWORD_LLM_URL</code> everything is made by rules.</p> : null}
      {calls?.map((one) => (
        <div key={one.model}>
          <h3>
            <Short text={one.model} chars={80} />
          </h3>
          <p class="why">
            {[...one.outcomes, ...one.tokens.map(([kind, many]): [string, number] => [`${kind} tokens`, many])].map(([name, many]) => (
              <span key={name}>
                {name} {many.toLocaleString()}
              </span>
            ))}
          </p>
        </div>
      ))}
      <p class="dim">Since this service started, of all tenants.</p>
    </section>
  );
}

export function modelCalls(text: string): ModelCall[] {
  const models = new Map<string, ModelCall>();
  const of = (model: string) => {
    if (!models.has(model)) models.set(model, { model, outcomes: [], tokens: [] });
    return models.get(model)!;
  };
  for (const { labels, value } of samples(text, "keepword_llm_calls_total")) of(labels["model"] ?? "").outcomes.push([labels["outcome"] ?? "", value]);
  for (const { labels, value } of samples(text, "keepword_llm_tokens_total")) of(labels["model"] ?? "").tokens.push([labels["kind"] ?? "", value]);
  return [...models.values()];
}

// Queues of vectors have no jobs, and those of jobs no vectors: what a queue does not have stays empty.
const COLUMNS = ["pending", "waiting", "running", "failed", "dead", "oldest_seconds", "last_error"];

function Queues({ queues }: { queues: Record<string, unknown> }) {
  const rows = Object.entries(queues).filter((one): one is [string, Record<string, unknown>] => typeof one[1] === "object" && one[1] !== null);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Queues">
      <table>
        <thead>
          <tr>
            <th>Queue</th>
            {COLUMNS.map((name) => (
              <th key={name}>{name.replace("_", " ")}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([queue, values]) => (
            <tr key={queue}>
              <td>{queue}</td>
              {COLUMNS.map((name) => (
                <td key={name}>{typeof values[name] === "number" ? values[name].toLocaleString(undefined, { maximumFractionDigits: 0 }) : <Short text={String(values[name] ?? "")} chars={300} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
