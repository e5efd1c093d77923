// Health: whether the service is ready, the tenant's settings, and how long requests take.

import { call, get, send } from "../api";
import type { ViewProps } from "../main";
import { samples } from "../metrics";
import { Busy, ErrorNote, Facts, Tag } from "../parts";
import { act, useLoad, useMe } from "../state";
import { Short } from "../words";

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
        <p class="dim">
          <code>keepword doctor</code> looks at the machine, the data folder and the settings with their origins.
        </p>
      </section>
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
        <p class="dim">Since this process started, of all tenants; the bounds are those of the buckets of /metrics.</p>
      </section>
    </>
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
