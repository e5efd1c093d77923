// Who may see what: a viewer in a place, the grant in words, and for single messages whether they would see it and why.

import { get } from "../api";
import type { ViewProps } from "../main";
import { Busy, ErrorNote, Facts, Filters, More, Tag, Time, ToMessage } from "../parts";
import { useConversations, useLoad, usePages } from "../state";
import type { Message } from "../types";
import { Short } from "../words";

export interface AccessReport {
  conversation: string;
  kind: string;
  run_id: string;
  agent: string | null;
  user: string | null;
  enters: boolean;
  reach: string | null;
  reads: string[];
  writes: boolean;
  run_ids: string[];
  visibilities: string[];
  verdicts: { message: string; sees: boolean; because: string }[];
}

const BOUND: [string, string][] = [
  ["", "as a key bound to them"],
  ["nobody", "as an unbound key that names them"],
];

// What was taken back or erased has no verdict: it is the tenant's owner's alone.
const takenBack = (message: Message) => (message.retracted?.erased_at ? "it was erased" : message.retracted ? "it was taken back: the tenant's owner alone reads it" : "");

interface Judged {
  message: Message;
  sees: boolean;
  because: string;
}

export function Access({ query }: ViewProps) {
  const places = useConversations();
  const conversation = query["conversation"] ?? places.data?.[0]?.external_id;
  const about = { conversation, user: query["user"], agent: query["agent"], bound: query["bound"] };
  const asked = JSON.stringify([about, query["from"]]);
  const report = useLoad(conversation ? (signal) => get<AccessReport>("/v1/access", about, {}, signal) : null, [asked]);
  const pages = usePages<Judged>(
    conversation
      ? async (cursor, signal) => {
          const from = query["from"];
          const page = await get<{ messages: Message[]; next: string | null }>(from ? `/v1/conversations/${encodeURIComponent(from)}/messages` : "/v1/browse", { limit: 50, order: "desc", cursor }, {}, signal);
          const ids = page.messages.map((one) => one.id);
          const judged = ids.length ? await get<AccessReport>("/v1/access", { ...about, message: ids }, {}, signal) : null;
          const verdicts = new Map(judged?.verdicts.map((one) => [one.message, one]));
          const items = page.messages.map((message) => ({ message, sees: verdicts.get(message.id)?.sees ?? false, because: verdicts.get(message.id)?.because ?? takenBack(message) }));
          return { items, next: page.next };
        }
      : null,
    [asked],
  );
  const names = places.data?.map((one) => one.external_id) ?? [];
  return (
    <>
      <Filters
        view="access"
        query={{ ...query, conversation: conversation ?? "" }}
        fields={[
          { name: "user", label: "User" },
          { name: "agent", label: "Agent" },
          { name: "bound", label: "Key", options: BOUND },
          { name: "conversation", label: "In the place of", list: names },
          { name: "from", label: "Messages of", list: names, placeholder: "the whole tenant" },
        ]}
      />
      <ErrorNote error={places.error ?? report.error} />
      <Busy when={report.loading} />
      {report.data ? <Granted report={report.data} /> : null}
      <h2>Would they see it?</h2>
      <Busy when={pages.loading} />
      <ErrorNote error={pages.error} />
      {pages.items.length ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="Messages">
          <table>
            <thead>
              <tr>
                <th>Seen</th>
                <th>Message</th>
                <th>Because</th>
                <th>Where</th>
                <th>When</th>
              </tr>
            </thead>
            <tbody>
              {pages.items.map(({ message, sees, because }) => (
                <tr key={message.id}>
                  <td>
                    <Tag kind={sees ? "good" : "bad"}>{sees ? "yes" : "no"}</Tag>
                  </td>
                  <td class="main">
                    <Short text={message.content || message.tool_name} chars={140} />
                  </td>
                  <td>
                    <Short text={because} chars={300} />
                  </td>
                  <td>
                    <ToMessage conversation={message.conversation} seq={message.seq}>
                      <Short text={message.conversation} chars={40} /> #{message.seq}
                    </ToMessage>
                  </td>
                  <td>
                    <Time at={message.created_at} />
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

function Granted({ report }: { report: AccessReport }) {
  return (
    <section class="card" aria-label="The grant">
      <h2>
        {report.enters ? "They enter" : "They do not enter"} <Short text={report.conversation} chars={60} /> <Tag>{report.kind}</Tag>
      </h2>
      <ul>
        {report.reads.map((text) => (
          <li key={text}>
            <Short text={text} chars={400} />
          </li>
        ))}
      </ul>
      <Facts
        rows={[
          ["Writes", report.enters ? (report.writes ? "yes, here" : "no") : null],
          ["Opens", report.run_ids.length ? <Short text={report.run_ids.join(", ")} chars={600} /> : null],
          ["Visibility", report.visibilities.length ? report.visibilities.join(", ") : null],
        ]}
      />
    </section>
  );
}
