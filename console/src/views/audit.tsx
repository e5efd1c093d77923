// Keys and the audit: who may call, and who changed rights or removed something, and when.

import { get } from "../api";
import type { ViewProps } from "../main";
import { Busy, Empty, ErrorNote, Filters, More, Tag, Time } from "../parts";
import { usePages } from "../state";
import { Short } from "../words";
import { Keys } from "./keys";

interface AuditEvent {
  id: string;
  at: string;
  key: string | null;
  actor: string;
  action: string;
  [more: string]: unknown;
}

const SHOWN = new Set(["id", "at", "key", "actor", "action"]);

export function Audit({ query }: ViewProps) {
  const asked = { action: query["action"], actor: query["actor"], since: query["since"] };
  const pages = usePages<AuditEvent>(
    async (cursor, signal) => {
      const page = await get<{ events: AuditEvent[]; next: string | null }>("/v1/audit", { limit: 100, cursor, ...asked }, {}, signal);
      return { items: page.events, next: page.next };
    },
    [JSON.stringify(asked)],
  );
  return (
    <>
      <Keys />
      <h2>Audit</h2>
      <Filters
        view="audit"
        query={query}
        fields={[
          { name: "action", label: "Action", placeholder: "memory.deleted" },
          { name: "actor", label: "By", placeholder: "user:ann" },
          { name: "since", label: "Since", type: "date" },
        ]}
      />
      <ErrorNote error={pages.error} />
      <Busy when={pages.loading} />
      {!pages.loading && !pages.error && !pages.items.length ? <Empty title="Nothing was noted" commands={["keepword audit", "keepword keys list"]} /> : null}
      {pages.items.length ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="Events">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>Action</th>
                <th>By</th>
                <th>Key</th>
                <th>What</th>
              </tr>
            </thead>
            <tbody>
              {pages.items.map((one) => (
                <tr key={one.id}>
                  <td>
                    <Time at={one.at} />
                  </td>
                  <td>
                    <Tag>{one.action}</Tag>
                  </td>
                  <td>
                    <Short text={one.actor} chars={80} />
                  </td>
                  <td>
                    <code>{one.key ?? ""}</code>
                  </td>
                  <td class="main">
                    {Object.entries(one)
                      .filter(([name, value]) => !SHOWN.has(name) && value !== null && value !== undefined && JSON.stringify(value) !== "{}")
                      .map(([name, value]) => (
                        <span key={name}>
                          {name} <Short text={typeof value === "string" ? value : JSON.stringify(value)} chars={200} />{" "}
                        </span>
                      ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <More pages={pages} />
        </div>
      ) : null}
    </>
  );
}
