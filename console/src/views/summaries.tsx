// Summaries as a tree: week, day, session, thread, and at the leaves the exact words.

import { useState } from "preact/hooks";
import { get, path } from "../api";
import type { ViewProps } from "../main";
import { Busy, Empty, ErrorNote, Filters, Share, Tag, Time, ToMessage } from "../parts";
import { useConversations, useLoad } from "../state";
import type { Message, Summary, SummaryNode } from "../types";
import { Short, Words } from "../words";

export function Summaries({ query }: ViewProps) {
  const places = useConversations();
  const conversation = query["conversation"] ?? places.data?.find((one) => one.message_count > 0)?.external_id;
  const tree = useLoad(conversation ? (signal) => get<{ summaries: SummaryNode[] }>(path("v1", "conversations", conversation, "summaries"), {}, {}, signal) : null, [conversation]);
  return (
    <>
      <Filters view="summaries" query={{ ...query, conversation: conversation ?? "" }} fields={[{ name: "conversation", label: "Conversation", list: places.data?.map((one) => one.external_id) ?? [] }]} />
      <ErrorNote error={places.error ?? tree.error} />
      <Busy when={tree.loading || places.loading} />
      {tree.data && !tree.data.summaries.length ? (
        <Empty title="This conversation has no summary yet" commands={["keepword compact --help"]}>
          <p>A thread is summarised after 50 messages, a session after an hour of silence, a day and a week at their ends.</p>
        </Empty>
      ) : null}
      <ul class="tree">
        {tree.data?.summaries.map((node) => (
          <Node key={node.summary.id} node={node} open />
        ))}
      </ul>
    </>
  );
}

function Node({ node, open = false }: { node: SummaryNode; open?: boolean }) {
  const { summary, children } = node;
  const [isOpen, set] = useState(open);
  return (
    <li>
      <details open={isOpen} onToggle={(event) => set(event.currentTarget.open)}>
        <summary>
          <Tag kind={`tier-${summary.tier}`}>{summary.tier}</Tag> <Time at={summary.earliest_at} />
          {" – "}
          <Time at={summary.latest_at} />{" "}
          <span class="dim">
            {summary.message_count.toLocaleString()} messages
            {summary.first_seq ? ` (#${summary.first_seq} to #${summary.last_seq})` : ""}
          </span>
        </summary>
        {isOpen ? (
          <>
            <div class="quote">
              <Words text={summary.content} chars={1500} />
            </div>
            <p class="why">
              <span>
                <Share value={summary.share} label="names and numbers that are in its sources" /> {(100 * summary.share).toFixed(0)} % of what it names is in its sources
              </span>
              <span>made by {summary.model}</span>
              <Decisions summary={summary} />
            </p>
            {summary.reason ? (
              <p class="why">
                <Tag kind="warn">the gate refused a model's summary</Tag> <Short text={summary.reason} chars={600} />
              </p>
            ) : null}
            {children.length ? (
              <ul class="tree">
                {children.map((child) => (
                  <Node key={child.summary.id} node={child} open={children.length === 1} />
                ))}
              </ul>
            ) : (
              <Leaf id={summary.id} />
            )}
          </>
        ) : null}
      </details>
    </li>
  );
}

function Decisions({ summary }: { summary: Summary }) {
  const decisions = Array.isArray(summary.key_decisions) ? summary.key_decisions : [];
  return decisions.length ? <span>decisions: <Short text={decisions.join(" · ")} chars={300} /></span> : null;
}

function Leaf({ id }: { id: string }) {
  const [open, set] = useState(false);
  const found = useLoad(open ? (signal) => get<{ messages: Message[]; next: string | null }>(path("v1", "summaries", id), {}, {}, signal) : null, [id, open]);
  return (
    <details open={open} onToggle={(event) => set(event.currentTarget.open)}>
      <summary>The words</summary>
      <Busy when={found.loading} />
      <ErrorNote error={found.error} />
      <ul class="lines">
        {found.data?.messages.map((one) => (
          <li key={one.id}>
            <Words text={one.content || one.tool_result || one.tool_name} chars={400} />
            <p class="why">
              <Short text={one.user ?? one.agent ?? one.role} chars={40} />
              <Time at={one.created_at} />
              <ToMessage conversation={one.conversation} seq={one.seq}>
                #{one.seq}
              </ToMessage>
            </p>
          </li>
        ))}
      </ul>
      {found.data?.next ? <p class="dim">More messages follow in the transcript.</p> : null}
    </details>
  );
}
