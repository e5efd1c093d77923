// Health: whether the service is ready, what the doctor finds, settings with their origins, how long requests take, growth.

import { useEffect, useState } from "preact/hooks";
import { call, get, send } from "../api";
import type { ViewProps } from "../main";
import { samples } from "../metrics";
import { Bars, Line, Ranges, type Point } from "../plots";
import { Busy, ErrorNote, Facts, Tag } from "../parts";
import { act, useLoad, useMe } from "../state";
import type { Stats } from "../types";
import { Short } from "../words";

const LOOK_MS = 4000;
const MOST_POINTS = 450;
const MOST_ROUTES = 12;
const DAY_MS = 86_400_000;

interface Report {
  findings: { name: string; ok: boolean; found: string; fix: string }[];
  settings: { name: string; variable: string; value: string; origin: string }[];
}

interface Latency {
  route: string;
  count: number;
  p50: number;
  p95: number;
}

export function Health(_: ViewProps) {
  const me = useMe();
  const ready = useLoad((signal) => get<{ status: string }>("/readyz", {}, {}, signal), []);
  const about = useLoad((signal) => get<{ version: string }>("/", {}, {}, signal), []);
  const metrics = useLoad(async (signal) => latencies(await (await send("GET", "/metrics", { signal })).text()), []);
  const settings = useLoad(me.owner ? (signal) => get<Record<string, unknown>>("/v1/settings", {}, {}, signal) : null, [me.owner]);
  return (
    <>
      <section class="card" aria-label="The service">
        <h2>The service</h2>
        <Busy when={ready.loading} />
        <ErrorNote error={ready.error} />
        {ready.data ? (
          <p>
            <Tag kind="good">{ready.data.status}</Tag>
          </p>
        ) : null}
        <Facts rows={[["Version", about.data?.version ?? null]]} />
      </section>
      {me.owner ? <Findings /> : null}
      <Growth owner={me.owner} />
      {me.owner ? (
        <section class="card" aria-label="Settings">
          <h2>Settings of the tenant</h2>
          <ErrorNote error={settings.error} />
          <Facts rows={Object.entries(settings.data ?? {}).map(([name, value]) => [name, <Setting name={name} value={value} reload={settings.reload} />])} />
        </section>
      ) : null}
      <section class="card" aria-label="Latency">
        <h2>How long requests take</h2>
        <Busy when={metrics.loading} />
        <ErrorNote error={metrics.error} />
        {metrics.data?.length ? <Ranges label="From the median to the 95th percentile, of the most frequent routes" rows={metrics.data.slice(0, MOST_ROUTES).map((one) => ({ name: one.route, from: one.p50, to: one.p95 }))} /> : null}
        {metrics.data ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Latencies">
            <table>
              <thead>
                <tr>
                  <th>Route</th>
                  <th>Requests</th>
                  <th>Median</th>
                  <th>95th percentile</th>
                </tr>
              </thead>
              <tbody>
                {metrics.data.map((one) => (
                  <tr key={one.route}>
                    <td>
                      <Short text={one.route} chars={100} />
                    </td>
                    <td>{one.count.toLocaleString()}</td>
                    <td>≤ {(one.p50 * 1000).toLocaleString()} ms</td>
                    <td>≤ {(one.p95 * 1000).toLocaleString()} ms</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : null}
        <p class="dim">Since this service started, of all tenants; the bounds are those of the buckets of /metrics.</p>
      </section>
    </>
  );
}

// What `keepword doctor` finds without asking a model. Only a page on the service's machine is told.
function Findings() {
  const report = useLoad((signal) => get<Report>("/v1/service", {}, {}, signal), []);
  const [all, showAll] = useState(false);
  const bad = report.data?.findings.filter((one) => !one.ok) ?? [];
  const settings = report.data?.settings.filter((one) => all || one.origin !== "default") ?? [];
  return (
    <>
      <section class="card" aria-label="Findings">
        <div class="bar">
          <h2>What the doctor finds</h2>
          <button type="button" disabled={report.loading} onClick={report.reload}>
            Look again
          </button>
        </div>
        <Busy when={report.loading && !report.data} />
        <ErrorNote error={report.error} />
        {report.data ? <p role="status">{bad.length ? `${bad.length} of ${report.data.findings.length} checks are bad.` : `All ${report.data.findings.length} checks are well.`}</p> : null}
        <ul class="lines">
          {[...bad, ...(report.data?.findings.filter((one) => one.ok) ?? [])].map((one) => (
            <li key={one.name}>
              <Tag kind={one.ok ? "good" : "bad"}>{one.ok ? "ok" : "bad"}</Tag> <strong>{one.name}</strong>: <Short text={one.found} chars={500} />
              {one.ok ? null : (
                <p>
                  Fix: <Short text={one.fix} chars={500} />
                </p>
              )}
            </li>
          ))}
        </ul>
        <p class="dim">
          <code>keepword doctor</code> also asks the models.
        </p>
      </section>
      {report.data ? (
        <section class="card" aria-label="Settings of the service">
          <h2>Settings of the service</h2>
          <label class="check">
            <input type="checkbox" checked={all} onChange={(event) => showAll(event.currentTarget.checked)} /> Also those that have their default
          </label>
          <div class="scroll" tabIndex={0} role="region" aria-label="Settings with their origins">
            <table>
              <thead>
                <tr>
                  <th>Setting</th>
                  <th>Value</th>
                  <th>From</th>
                </tr>
              </thead>
              <tbody>
                {settings.map((one) => (
                  <tr key={one.name}>
                    <td>
                      <code>{one.variable}</code>
                    </td>
                    <td>
                      <Short text={one.value} chars={200} />
                    </td>
                    <td>
                      <Short text={one.origin} chars={200} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ) : null}
    </>
  );
}

interface Reading {
  at: number;
  requests: number;
  waiting: number;
  entries: number | null;
}

const DAYS = 90;

// The messages of each day by their own times, and all of them together.
function Days() {
  const growth = useLoad((signal) => get<{ days: { day: string; messages: number }[] }>("/v1/stats/growth", { days: DAYS }, {}, signal), []);
  if (!growth.data) return <ErrorNote error={growth.error} />;
  const counted = new Map(growth.data.days.map(({ day, messages }) => [day, messages]));
  const last = Date.parse(growth.data.days.at(-1)?.day ?? new Date().toISOString().slice(0, 10));
  let sum = 0;
  const daily: Point[] = [];
  const together: Point[] = [];
  for (let back = DAYS - 1; back >= 0; back -= 1) {
    const at = last - back * DAY_MS;
    const value = counted.get(new Date(at).toISOString().slice(0, 10)) ?? 0;
    sum += value;
    daily.push({ at, value });
    together.push({ at, value: sum });
  }
  return (
    <>
      <Line label="Messages by day" unit="on the last day" points={daily} span={`${DAYS} days`} />
      <Line label={`Messages of the last ${DAYS} days`} unit="messages" points={together} span={`${DAYS} days`} />
    </>
  );
}

// The tenant's messages by day, and what grows while the page looks: the service keeps no past of that.
function Growth({ owner }: { owner: boolean }) {
  const [readings, add] = useState<Reading[]>([]);
  const [census, count] = useState<[string, number][]>([]);
  const now = useLoad(
    async (signal) => {
      const text = await (await send("GET", "/metrics", { signal })).text();
      const stats = owner ? await get<Stats>("/v1/stats", {}, {}, signal) : null;
      const total = (name: string) => samples(text, name).reduce((sum, one) => sum + one.value, 0);
      const kinds = Object.entries(stats?.census ?? {}).map(([kind, many]): [string, number] => [kind, Number(many)]);
      const entries = stats ? kinds.reduce((sum, [, many]) => sum + many, 0) : null;
      return { kinds, reading: { at: Date.now(), requests: total("keepword_request_seconds_count"), waiting: total("keepword_backlog_entries"), entries } };
    },
    [owner],
  );
  useEffect(() => {
    if (!now.data) return;
    const { reading, kinds } = now.data;
    count(kinds);
    add((before) => [...before, reading].slice(-MOST_POINTS));
  }, [now.data]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || now.reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, [now.reload]);
  const rate: Point[] = readings.slice(1).map((one, number) => {
    const before = readings[number]!;
    return { at: one.at, value: Math.max(0, one.requests - before.requests) / Math.max(0.001, (one.at - before.at) / 1000) };
  });
  return (
    <section class="card" aria-label="Growth">
      <h2>Growth</h2>
      <ErrorNote error={now.error} />
      {owner ? <Bars rows={census} /> : null}
      {owner ? <Days /> : null}
      <Line label="Requests" unit="a second" points={rate} />
      {owner ? <Line label="Entries of the tenant" unit="entries" points={readings.map((one) => ({ at: one.at, value: one.entries ?? 0 }))} /> : null}
      <Line label="Entries that wait for a vector" unit="entries" points={readings.map((one) => ({ at: one.at, value: one.waiting }))} />
      <p class="dim">Read every {LOOK_MS / 1000} s while this page is open; /metrics is there to be kept by Prometheus.</p>
    </section>
  );
}

function Setting({ name, value, reload }: { name: string; value: unknown; reload: () => void }) {
  const put = (to: unknown) => call("PATCH", "/v1/settings", { body: { [name]: to } });
  if (typeof value === "boolean")
    return (
      <label class="check">
        <input type="checkbox" checked={value} onChange={() => void act(`${name} changed`, () => put(!value), reload, () => put(value))} /> <span class="unseen">{name}</span>
        {value ? "on" : "off"}
      </label>
    );
  return <Short text={value === null ? "the service's own" : String(value)} chars={100} />;
}

// Reads the histogram of request times: the bucket in which the median and the 95th percentile lie.
export function latencies(text: string): Latency[] {
  const buckets = new Map<string, [number, number][]>();
  for (const { labels, value } of samples(text, "keepword_request_seconds_bucket")) {
    const name = `${labels["method"]} ${labels["route"]}`;
    const le = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
    buckets.set(name, [...(buckets.get(name) ?? []), [le, value]]);
  }
  const rows = [...buckets].map(([route, those]) => {
    const count = those.at(-1)?.[1] ?? 0;
    const at = (share: number) => those.find(([, most]) => most >= share * count)?.[0] ?? Infinity;
    return { route, count, p50: at(0.5), p95: at(0.95) };
  });
  return rows.filter((one) => one.count > 0).sort((one, other) => other.count - one.count);
}
