// The search bench: a query as any viewer in any place, with each arm's rank and share; two recipes or viewers beside.

import { useState } from "preact/hooks";
import { go } from "../address";
import { post, type Viewer } from "../api";
import type { ViewProps } from "../main";
import { Busy, Copy, ErrorNote, Filters, Link, Tag, Time, ToMessage, type FieldSpec } from "../parts";
import { useConversations, useLoad, useMe } from "../state";
import type { Hit, SearchResults } from "../types";
import { Short, Words } from "../words";

const RECIPES: [string, string][] = [
  ["", "best (default)"],
  ["fast", "fast"],
  ["seed", "seed"],
];
const MODES: [string, string][] = [
  ["", "hybrid (default)"],
  ["words", "words"],
  ["meaning", "meaning"],
  ["trigram", "trigram"],
  ["regex", "regex"],
];
const KINDS: [string, string][] = [
  ["", "All"],
  ["message", "Messages"],
  ["summary", "Summaries"],
  ["memory", "Memories"],
  ["landmark", "Landmarks"],
];
// the arms and other signals, in the order and the colours in which they are drawn
const ARMS = ["words", "instant", "deep", "literal", "beside", "temporal", "importance"];

interface Side {
  body: Record<string, unknown>;
  viewer: Viewer;
}

function side(query: Record<string, string>, suffix: string): Side {
  const value = (name: string) => query[name + suffix] || undefined;
  const kinds = query["kinds"];
  const body = {
    query: query["q"] ?? "",
    ...(value("conversation") ? { conversation: value("conversation") } : {}),
    ...(value("recipe") ? { recipe: value("recipe") } : {}),
    ...(value("mode") ? { mode: value("mode") } : {}),
    ...(kinds ? { kinds: [kinds] } : {}),
    limit: 20,
    explain: true,
  };
  return { body, viewer: { user: value("user"), agent: value("agent") } };
}

export function Search({ query }: ViewProps) {
  const places = useConversations();
  const me = useMe();
  const two = query["two"] === "1";
  const names = places.data?.map((one) => one.external_id) ?? [];
  const fields = (suffix: string): FieldSpec[] => [
    { name: `conversation${suffix}`, label: "In", list: names, placeholder: me.owner ? "the whole tenant" : "a conversation" },
    { name: `user${suffix}`, label: "As user" },
    { name: `agent${suffix}`, label: "With agent" },
    { name: `recipe${suffix}`, label: "Recipe", options: RECIPES },
    { name: `mode${suffix}`, label: "Mode", options: MODES },
  ];
  return (
    <>
      <Filters view="search" query={query} fields={[{ name: "q", label: "Query", type: "search", long: true, placeholder: "What do you look for?" }, { name: "kinds", label: "Kind", options: KINDS }]}>
        <button type="submit" class="primary">
          Search
        </button>
        <label class="check">
          <input type="checkbox" checked={two} onChange={(event) => go("search", { ...query, two: event.currentTarget.checked ? "1" : undefined }, true)} />
          Two beside each other
        </label>
      </Filters>
      <div class={two ? "beside" : ""}>
        <Bench query={query} fields={fields("")} suffix="" label={two ? "First" : "Results"} />
        {two ? <Bench query={query} fields={fields("2")} suffix="2" label="Second" /> : null}
      </div>
    </>
  );
}

function Bench({ query, fields, suffix, label }: { query: Record<string, string>; fields: FieldSpec[]; suffix: string; label: string }) {
  const { body, viewer } = side(query, suffix);
  const asked = JSON.stringify([body, viewer]);
  const found = useLoad(
    body.query
      ? async (signal) => {
          const started = performance.now();
          const results = await post<SearchResults>("/v1/search", body, viewer, signal);
          return { results, ms: performance.now() - started };
        }
      : null,
    [asked],
  );
  return (
    <section aria-label={label}>
      <h2>{label}</h2>
      <Filters view="search" query={query} fields={fields} />
      {body.query ? (
        <p class="bar">
          <Copy text={asCurl(body, viewer)}>Copy as curl</Copy>
          <Copy text={asPython(body, viewer)}>Copy as Python</Copy>
          {found.data ? <span class="dim">{found.data.results.results.length} found in {found.data.ms.toFixed(0)} ms</span> : null}
        </p>
      ) : (
        <p class="dim">Ask something: every hit shows which arms found it, how each ranked it, and what each added to its score.</p>
      )}
      <Busy when={found.loading} />
      <ErrorNote error={found.error} />
      {found.data?.results.degraded.map((text) => <ErrorNote key={text} error={text} />)}
      {found.data?.results.hint ? (
        <p>
          <Short text={found.data.results.hint} chars={600} />
        </p>
      ) : null}
      {found.data?.results.results.length ? <Legend hits={found.data.results.results} /> : null}
      <ol class="hits">
        {found.data?.results.results.map((hit) => (
          <HitRow key={`${hit.id}.${hit.part}`} hit={hit} />
        ))}
      </ol>
    </section>
  );
}

function Legend({ hits }: { hits: Hit[] }) {
  const used = ARMS.filter((arm) => hits.some((hit) => (hit.why?.signals[arm]?.share ?? 0) > 0));
  return (
    <ul class="legend">
      {used.map((arm) => (
        <li key={arm}>
          <span class={`dot arm-${arm}`} /> {arm}
        </li>
      ))}
    </ul>
  );
}

function HitRow({ hit }: { hit: Hit }) {
  const [open, set] = useState(false);
  const signals = Object.entries(hit.why?.signals ?? {});
  const shares = signals.filter(([, one]) => one.share > 0);
  const whole = Math.max(1, ...shares.map(([, one]) => one.share)) > 1 ? shares.reduce((sum, [, one]) => sum + one.share, 0) : 1;
  return (
    <li>
      <Words text={hit.text} chars={400} />
      <p class="why">
        <Tag>{hit.kind}</Tag>
        {hit.conversation ? (
          <ToMessage conversation={hit.conversation} seq={hit.seq}>
            <Short text={hit.conversation} chars={40} />
            {hit.seq ? ` #${hit.seq}` : ""}
          </ToMessage>
        ) : (
          <Short text={hit.run_id} chars={40} />
        )}
        {hit.kind === "memory" ? (
          <Link view="memories" query={{ memory: hit.id }}>
            the memory
          </Link>
        ) : null}
        <Short text={hit.user ?? hit.agent ?? hit.role} chars={40} />
        <Time at={hit.created_at} />
        <strong>score {hit.score.toFixed(3)}</strong>
        <span>found by {hit.why?.arms.join(", ")}</span>
      </p>
      <span class="window" role="img" aria-label={`Shares: ${shares.map(([name, one]) => `${name} ${one.share.toFixed(3)}`).join(", ")}`}>
        {ARMS.filter((arm) => (hit.why?.signals[arm]?.share ?? 0) > 0).map((arm) => (
          <span key={arm} class={`part arm-${arm}`} style={{ width: `${(100 * (hit.why?.signals[arm]?.share ?? 0)) / whole}%` }} />
        ))}
      </span>
      <details open={open} onToggle={(event) => set(event.currentTarget.open)}>
        <summary>Why</summary>
        {open ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Signals">
            <table class="small-table">
              <thead>
                <tr>
                  <th>Signal</th>
                  <th>Rank</th>
                  <th>Value</th>
                  <th>Weight</th>
                  <th>Share of the score</th>
                </tr>
              </thead>
              <tbody>
                {signals.map(([name, one]) => (
                  <tr key={name}>
                    <td>
                      <span class={`dot arm-${name}`} /> {name}
                    </td>
                    <td>{one.rank}</td>
                    <td>{one.value}</td>
                    <td>{one.weight}</td>
                    <td>{one.share}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            <p class="why">
              {Object.entries(hit.why?.terms ?? {}).map(([term, one]) => (
                <Tag key={term} kind={one.match > 0 ? "good" : ""}>
                  <Short text={term} chars={30} /> {one.by ?? "missing"}
                </Tag>
              ))}
            </p>
          </div>
        ) : null}
      </details>
    </li>
  );
}

// Neither has the key: it is named as an environment variable.
export function asCurl(body: unknown, viewer: Viewer): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const lines = [`curl -X POST ${location.origin}/v1/search`, `-H "Authorization: Bearer $KEEPWORD_KEY"`, `-H 'Content-Type: application/json'`];
  if (viewer.user) lines.push(`-H ${quoted(`Keepword-User: ${encodeURIComponent(viewer.user)}`)}`);
  if (viewer.agent) lines.push(`-H ${quoted(`Keepword-Agent: ${encodeURIComponent(viewer.agent)}`)}`);
  lines.push(`-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n     ");
}

export function asPython(body: Record<string, unknown>, viewer: Viewer): string {
  const literal = (value: unknown) => (value === true ? "True" : value === false ? "False" : JSON.stringify(value));
  const named = Object.entries(viewer).filter(([, value]) => value).map(([name, value]) => `${name}=${literal(value)}`);
  const acting = named.length ? `.acting(${named.join(", ")})` : "";
  const { query, ...rest } = body;
  const given = Object.entries(rest).map(([name, value]) => `${name}=${literal(value)}`);
  return [
    "import os",
    "from keepword import Client",
    "",
    `with Client.sync(${JSON.stringify(location.origin)}, key=os.environ.get("KEEPWORD_KEY")) as client:`,
    `    for hit in client${acting}.search(${[literal(query), ...given].join(", ")}).results:`,
    "        print(hit.score, hit.text)",
  ].join("\n");
}
