// Imports: a history of another program is uploaded, counted in a dry run, and stored by the service's worker.

import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "../address";
import { call, get, path, post, send } from "../api";
import type { ViewProps } from "../main";
import { Busy, Empty, ErrorNote, Facts, Link, More, Share, Tag, Time, Tree } from "../parts";
import { act, said, useLoad, usePages } from "../state";
import { Short, counted } from "../words";

type State = "uploading" | "waiting" | "running" | "cancelling" | "checked" | "done" | "failed" | "cancelled";

interface Import {
  id: string;
  kind: string;
  file: string;
  options: Record<string, unknown>;
  state: State;
  dry_run: boolean;
  uploaded_bytes: number;
  read_bytes: number;
  total_bytes: number;
  report: { people?: { id: string; name: string | null; user: string }[]; left_out?: { what: string; count: number; example?: string }[] } & Record<string, unknown>;
  error: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

const KINDS: [string, string][] = [
  ["chatgpt", "ChatGPT: the zip of its data export, or conversations.json"],
  ["claude", "Claude.ai: the zip of its data export, or conversations.json"],
  ["claude-code", "Claude Code: a zip of ~/.claude/projects"],
  ["codex", "Codex: a zip of ~/.codex/sessions"],
  ["gemini-cli", "Gemini CLI: a zip of ~/.gemini/tmp"],
  ["slack", "Slack: the zip of a workspace's export"],
  ["telegram", "Telegram: result.json of Telegram Desktop"],
  ["whatsapp", "WhatsApp: the zip or text of an exported chat"],
  ["discord", "Discord: the JSON of DiscordChatExporter"],
  ["mem0", "mem0: memories as JSON"],
  ["letta", "Letta: an agent file, .af"],
];
const PART_BYTES = 8 * 1024 * 1024;
const LOOK_MS = 2000;
const MOVING: readonly State[] = ["waiting", "running", "cancelling"];
const ENDED: readonly State[] = ["done", "failed", "cancelled"];
const KIND_OF: Record<string, string> = { done: "good", checked: "good", failed: "bad", cancelled: "warn" };

export function Imports({ query }: ViewProps) {
  const pages = usePages<Import>(async (cursor, signal) => {
    const page = await get<{ imports: Import[]; next: string | null }>("/v1/imports", { limit: 50, cursor }, {}, signal);
    return { items: page.imports, next: page.next };
  }, []);
  const open = query["import"];
  return (
    <>
      <Upload made={(id) => (pages.reload(), go("imports", { import: id }))} />
      <ErrorNote error={pages.error} />
      <Busy when={pages.loading && !pages.items.length} />
      {!pages.loading && !pages.error && !pages.items.length ? (
        <Empty title="Nothing was imported yet" commands={["keepword import-from auto", "keepword import-from chatgpt export.zip --user ann"]}>
          <p>The command line reads files of this machine without an upload; the form above sends one to the service.</p>
        </Empty>
      ) : null}
      <div class={open ? "split wide" : ""}>
        {pages.items.length ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Imports">
            <table>
              <thead>
                <tr>
                  <th>File</th>
                  <th>Kind</th>
                  <th>State</th>
                  <th>Uploaded</th>
                  <th>Made</th>
                </tr>
              </thead>
              <tbody>
                {pages.items.map((one) => (
                  <tr key={one.id} class={one.id === open ? "chosen" : ""}>
                    <td class="main">
                      <Link view="imports" query={{ import: one.id }} current={one.id === open}>
                        <Short text={one.file} chars={80} />
                      </Link>
                    </td>
                    <td>{one.kind}</td>
                    <td>
                      <Tag kind={KIND_OF[one.state] ?? ""}>{one.state}</Tag>
                    </td>
                    <td>{size(one.uploaded_bytes)}</td>
                    <td>
                      <Time at={one.created_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <More pages={pages} />
          </div>
        ) : null}
        {open ? <Detail key={open} id={open} changed={pages.reload} /> : null}
      </div>
    </>
  );
}

const size = (bytes: number): string => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toLocaleString(undefined, { maximumFractionDigits: 1 })} MB`);

// Lines such as "U0123 = ann": who somebody of the source is here.
export function mapOf(text: string): Record<string, string> {
  const pairs = text.split("\n").map((line) => line.split("=").map((one) => one.trim()));
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair.length === 2 && Boolean(pair[0] && pair[1])));
}

function Upload({ made }: { made: (id: string) => void }) {
  const [progress, show] = useState<{ sent: number; of: number } | null>(null);
  const [error, fail] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const upload = async (form: HTMLFormElement) => {
    const sent = new FormData(form);
    const file = sent.get("file");
    if (!(file instanceof File) || !file.size) return fail("Choose a file that is not empty.");
    const { signal } = (stop.current = new AbortController());
    const text = (name: string) => String(sent.get(name) ?? "").trim();
    const map = mapOf(text("map"));
    const options = { ...(text("agent") ? { agent: text("agent") } : {}), ...(text("project") ? { project: text("project") } : {}), ...(Object.keys(map).length ? { map } : {}), ...(sent.get("forgotten") ? { also_forgotten: true } : {}) };
    fail(null);
    show({ sent: 0, of: file.size });
    try {
      const { id } = await call<Import>("POST", "/v1/imports", { body: { kind: text("kind"), file: file.name, user: text("user"), ...options }, signal });
      for (let start = 0, number = 1; start < file.size; start += PART_BYTES, number += 1) {
        await send("PUT", path("v1", "imports", id, "parts", String(number)), { raw: file.slice(start, start + PART_BYTES), signal });
        show({ sent: Math.min(file.size, start + PART_BYTES), of: file.size });
      }
      // counted first: nothing is stored until somebody looked at what would be
      await call("POST", path("v1", "imports", id, "start"), { body: { dry_run: true }, signal });
      form.reset();
      made(id);
    } catch (problem) {
      if (!signal.aborted) fail(said(problem));
    }
    show(null);
  };
  return (
    <details>
      <summary>Import a history</summary>
      <form
        aria-label="Import a history"
        onSubmit={(event) => {
          event.preventDefault();
          void upload(event.currentTarget);
        }}
      >
        <div class="filters">
          <label class="long">
            <span>Of which program</span>
            <select name="kind">
              {KINDS.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <label class="long">
            <span>File; a folder as a zip</span>
            <input type="file" name="file" required />
          </label>
          <label>
            <span>Whose history it is</span>
            <input name="user" required autocomplete="off" spellcheck={false} placeholder="ann" />
          </label>
          <label>
            <span>Who answered there</span>
            <input name="agent" autocomplete="off" spellcheck={false} placeholder="the kind" />
          </label>
          <label>
            <span>Project for all sessions</span>
            <input name="project" autocomplete="off" spellcheck={false} placeholder="none" />
          </label>
          <label class="check">
            <input type="checkbox" name="forgotten" /> Also what was marked as not to be remembered
          </label>
        </div>
        <label>
          <span>Who is who, a line each, such as “U0123 = ann”; others become users of their own</span>
          <textarea name="map" rows={2} spellcheck={false} />
        </label>
        <div class="bar">
          <button type="submit" class="primary" disabled={progress !== null}>
            Upload and count
          </button>
          {progress ? (
            <span role="status">
              <Share value={progress.sent / progress.of} label="uploaded" /> {size(progress.sent)} of {size(progress.of)} sent; keep this page open
            </span>
          ) : (
            <span class="dim">Nothing is stored before you have seen what would be.</span>
          )}
        </div>
        <ErrorNote error={error} />
      </form>
    </details>
  );
}

function Detail({ id, changed }: { id: string; changed: () => void }) {
  const at = path("v1", "imports", id);
  const one = useLoad((signal) => get<Import>(at, {}, {}, signal), [id]);
  const state = one.data?.state;
  useEffect(() => {
    if (state) changed();
    if (!state || !MOVING.includes(state)) return undefined;
    const timer = setInterval(() => document.hidden || one.reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, [state, one.reload]);
  const found = one.data;
  const close = (
    <Link view="imports" class="button">
      Close
    </Link>
  );
  if (!found)
    return (
      <aside class="detail" aria-label="Import">
        {close}
        <Busy when={one.loading} />
        <ErrorNote error={one.error} />
      </aside>
    );
  const { people, left_out, ...counts } = found.report;
  return (
    <aside class="detail" aria-label="Import">
      <div class="bar">
        <h2>
          <Short text={found.file} chars={80} /> <Tag kind={KIND_OF[found.state] ?? ""}>{found.state}</Tag>
        </h2>
        {close}
      </div>
      {found.error ? <ErrorNote error={found.error} /> : null}
      {MOVING.includes(found.state) ? (
        <p role="status">
          <Share value={found.total_bytes ? found.read_bytes / found.total_bytes : 0} label="read" /> {size(found.read_bytes)} of {size(found.total_bytes)} read{found.dry_run ? ", to count alone" : ""}
        </p>
      ) : null}
      <Actions one={found} after={() => (one.reload(), changed())} forgotten={() => (changed(), go("imports"))} />
      <Facts rows={[["Kind", found.kind], ["User", <Short text={String(found.options["user"] ?? "")} />], ["Made", <Time at={found.created_at} />], ["Started", found.started_at && <Time at={found.started_at} />], ["Ended", found.finished_at && <Time at={found.finished_at} />]]} />
      {Object.keys(counts).length ? (
        <>
          <h3>{found.state === "checked" ? "What is in it" : "What was done"}</h3>
          <Tree value={counts} />
        </>
      ) : null}
      {people?.length ? (
        <>
          <h3>People</h3>
          <ul class="lines">
            {people.map((person) => (
              <li key={person.id}>
                <Short text={person.name ?? person.id} chars={60} /> <span class="dim">is here</span>{" "}
                <Link view="people" query={{ user: person.user }}>
                  <Short text={person.user} chars={60} />
                </Link>
              </li>
            ))}
          </ul>
        </>
      ) : null}
      {left_out?.length ? (
        <>
          <h3>Left out or changed</h3>
          <ul class="lines">
            {left_out.map((part) => (
              <li key={part.what}>
                <Short text={part.what} chars={200} /> <span class="dim">{counted(part.count, "time")}</span>
                {part.example ? (
                  <p class="dim">
                    such as <Short text={part.example} chars={200} />
                  </p>
                ) : null}
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </aside>
  );
}

function Actions({ one, after, forgotten }: { one: Import; after: () => void; forgotten: () => void }) {
  const at = (what: string) => path("v1", "imports", one.id, what);
  const start = (dry_run: boolean) => post(at("start"), { dry_run });
  return (
    <div class="bar">
      {one.state === "checked" ? (
        <button type="button" class="primary" onClick={() => void act("The import has begun", () => start(false), after)}>
          Import it
        </button>
      ) : null}
      {one.state === "uploading" && one.uploaded_bytes ? (
        <button type="button" onClick={() => void act("It is being counted", () => start(true), after)}>
          Count it
        </button>
      ) : null}
      {ENDED.includes(one.state) ? (
        <button type="button" onClick={() => void act("Forgotten; what it stored stays", () => call("DELETE", path("v1", "imports", one.id)), forgotten)}>
          Forget it with its report
        </button>
      ) : (
        <button type="button" class="danger" disabled={one.state === "cancelling"} onClick={() => void act("It ends; what was stored stays", () => post(at("cancel"), {}), after)}>
          Cancel
        </button>
      )}
    </div>
  );
}
