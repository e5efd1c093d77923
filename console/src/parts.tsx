// The parts that views are made of.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { go, write } from "./address";
import type { Pages } from "./state";
import { Short } from "./words";

export function ErrorNote({ error }: { error: string | null }) {
  return error ? (
    <p class="error" role="alert">
      <Short text={error} chars={2000} />
    </p>
  ) : null;
}

export function Busy({ when }: { when: boolean }) {
  return when ? (
    <p class="busy" role="status">
      Loading …
    </p>
  ) : null;
}

// What a view says where there is nothing yet: how to fill it.
export function Empty({ title, commands, children }: { title: string; commands?: string[]; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
      {commands ? (
        <pre tabIndex={0} aria-label="Commands to copy">
          {commands.join("\n")}
        </pre>
      ) : null}
    </div>
  );
}

export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return null;
  const when = new Date(at);
  if (Number.isNaN(when.valueOf())) return <span>{at}</span>;
  const shown = when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return (
    <time dateTime={at} title={at}>
      {shown}
    </time>
  );
}

export function Tag({ children, kind = "" }: { children: ComponentChildren; kind?: string }) {
  return <span class={`tag ${kind}`}>{children}</span>;
}

export function Link(props: {
  view: string;
  query?: Record<string, string | undefined>;
  children: ComponentChildren;
  class?: string;
  current?: boolean;
}) {
  return (
    <a href={write(props.view, props.query)} class={props.class} aria-current={props.current ? "true" : undefined}>
      {props.children}
    </a>
  );
}

// Leads to a message in its conversation.
export function ToMessage({ conversation, seq, children }: { conversation: string; seq: number | null; children: ComponentChildren }) {
  return (
    <Link view="transcript" query={{ conversation, ...(seq ? { seq: String(seq) } : {}) }}>
      {children}
    </Link>
  );
}

export function ToConversation({ conversation }: { conversation: string }) {
  return (
    <Link view="transcript" query={{ conversation }}>
      <Short text={conversation} chars={60} />
    </Link>
  );
}

export interface FieldSpec {
  name: string;
  label: string;
  options?: readonly (readonly [string, string])[];
  list?: string[];
  type?: "text" | "search" | "date";
  placeholder?: string;
  long?: boolean;
}

// Filters of a view: a change is written into the address, from which the view reads it.
export function Filters({ view, query, fields, children }: { view: string; query: Record<string, string>; fields: FieldSpec[]; children?: ComponentChildren }) {
  const base = useId();
  const change = (name: string, value: string) => {
    if ((query[name] ?? "") !== value) go(view, { ...query, [name]: value || undefined }, true);
  };
  return (
    <form
      class="filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const sent = new FormData(event.currentTarget);
        go(view, { ...query, ...Object.fromEntries(fields.map((one) => [one.name, String(sent.get(one.name) ?? "") || undefined])) }, true);
      }}
    >
      {fields.map((one) => (
        <label key={one.name} for={base + one.name} class={one.long ? "long" : ""}>
          <span>{one.label}</span>
          {one.options ? (
            <select id={base + one.name} name={one.name} value={query[one.name] ?? ""} onChange={(event) => change(one.name, event.currentTarget.value)}>
              {one.options.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          ) : (
            <>
              <input
                id={base + one.name}
                name={one.name}
                type={one.type ?? "text"}
                value={query[one.name] ?? ""}
                placeholder={one.placeholder}
                list={one.list ? `${base}${one.name}-list` : undefined}
                autocomplete="off"
                spellcheck={false}
                onChange={(event) => change(one.name, event.currentTarget.value)}
              />
              {one.list ? (
                <datalist id={`${base}${one.name}-list`}>
                  {one.list.map((value) => (
                    <option key={value} value={value} />
                  ))}
                </datalist>
              ) : null}
            </>
          )}
        </label>
      ))}
      {children}
    </form>
  );
}

// Shows pages; the next one comes when its end is scrolled to, or by the button.
export function More({ pages }: { pages: Pages<unknown> }) {
  const end = useRef<HTMLDivElement>(null);
  const { more, next } = pages;
  useEffect(() => {
    if (!end.current || !next) return undefined;
    const watch = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && more(), { rootMargin: "300px" });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [more, next]);
  return (
    <div ref={end} class="more">
      <ErrorNote error={pages.error} />
      {pages.next ? (
        <button type="button" onClick={pages.more}>
          More
        </button>
      ) : null}
    </div>
  );
}

// A share of one whole, drawn.
export function Share({ value, label }: { value: number; label?: string }) {
  const width = `${Math.max(0, Math.min(1, value)) * 100}%`;
  return (
    <span class="share" title={label}>
      <span class="share-full" style={{ width }} />
    </span>
  );
}

export function Copy({ text, children }: { text: string; children: ComponentChildren }) {
  const [done, set] = useState(false);
  return (
    <button
      type="button"
      class="small"
      onClick={() => {
        void navigator.clipboard?.writeText(text).then(
          () => set(true),
          () => set(false),
        );
        setTimeout(() => set(false), 2000);
      }}
    >
      {done ? "Copied" : children}
    </button>
  );
}

// A list of names and values.
export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

// JSON as rows and lists, deep structures as text.
export function Tree({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (value === null || value === undefined) return <span class="dim">none</span>;
  if (typeof value !== "object") return <Short text={typeof value === "number" ? value.toLocaleString(undefined, { maximumFractionDigits: 2 }) : String(value)} chars={400} />;
  if (depth > 3) return <Short text={JSON.stringify(value)} chars={400} />;
  const rows = Array.isArray(value) ? value.map((one, number): [string, unknown] => [String(number + 1), one]) : Object.entries(value);
  if (!rows.length) return <span class="dim">none</span>;
  return <Facts rows={rows.map(([name, one]) => [name, <Tree value={one} depth={depth + 1} />])} />;
}
