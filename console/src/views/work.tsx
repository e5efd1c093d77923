// Work: what waits, what failed and why, how much is covered; it looks again every few seconds.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api";
import type { ViewProps } from "../main";
import { Busy, ErrorNote, Share, Tree } from "../parts";
import { useLoad } from "../state";
import type { Stats } from "../types";
import { Short } from "../words";

const LOOK_MS = 4000;

export function Work(_: ViewProps) {
  const [live, setLive] = useState(true);
  const stats = useLoad((signal) => get<Stats>("/v1/stats", {}, {}, signal), []);
  const [shown, show] = useState<Stats | null>(null);
  useEffect(() => {
    if (stats.data) show(stats.data);
  }, [stats.data]);
  useEffect(() => {
    if (!live) return undefined;
    const timer = setInterval(() => document.hidden || stats.reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, [live, stats.reload]);
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
          <div class="cards">
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
