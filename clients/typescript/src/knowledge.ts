import { conversationPath, type Paging } from "./places.js";
import { type Transport, segment } from "./transport.js";
import type * as t from "./types.js";

type ScopeKind = "user" | "project" | "room" | "global";
interface InConversation {
  conversation?: string;
}
interface AtVersion {
  /** The version that it must be at, else `Outdated` is thrown. */
  version?: number;
}

/** Exact values under a key, of a user, a project, a room or the whole tenant. */
export class Facts {
  constructor(private readonly wire: Transport) {}

  get(kind: ScopeKind, scope: string, key: string, options: InConversation = {}): Promise<t.Fact> {
    return this.wire.call("GET", factPath(kind, scope, key), { query: options });
  }
  /** Write a fact; what it was goes into its history. */
  set(kind: ScopeKind, scope: string, key: string, value: unknown, options: Omit<t.PutFact, "value"> & InConversation = {}): Promise<t.Fact> {
    const { conversation, ...fields } = options;
    return this.wire.call("PUT", factPath(kind, scope, key), { body: { value, ...fields }, query: { conversation } });
  }
  /** Delete a fact; its history stays. */
  delete(kind: ScopeKind, scope: string, key: string, { version, ...query }: InConversation & AtVersion = {}): Promise<void> {
    return this.wire.call("DELETE", factPath(kind, scope, key), { query, version });
  }
  /** List a scope's facts by key; without a scope all that may be read in the conversation's place. */
  list(options: InConversation & Paging & { kind?: ScopeKind; scope?: string } = {}): Promise<t.FactPage> {
    const { kind, scope, ...query } = options;
    return this.wire.call("GET", kind === undefined ? "/v1/facts" : scopePath(kind, scope ?? ""), { query });
  }
  history(kind: ScopeKind, scope: string, key: string, options: InConversation & Paging = {}): Promise<t.FactHistory> {
    return this.wire.call("GET", `${factPath(kind, scope, key)}/history`, { query: options });
  }
}

/** What was worth keeping of what was said, a sentence each, with its sources. */
export class Memories {
  constructor(private readonly wire: Transport) {}

  /** Keep a memory. One that says the same takes it up; one that it contradicts is superseded. */
  add(content: string, fields: Omit<t.AddMemory, "content">): Promise<t.Memory> {
    return this.wire.call("POST", "/v1/semantic", { body: { content, ...fields } });
  }
  /** Find memories, best first: those that are valid now, or with `as_of` those that were. */
  search(query: string, options: Omit<t.SearchMemories, "query"> = {}): Promise<t.MemoryHits> {
    return this.wire.call("POST", "/v1/search/semantic", { body: { query, ...options } });
  }
  list(options: InConversation & Paging & { type?: t.Memory["type"]; user?: string; agent?: string; as_of?: string } = {}): Promise<t.MemoryPage> {
    return this.wire.call("GET", "/v1/semantic", { query: options });
  }
  get(memory: string, options: InConversation = {}): Promise<t.Memory> {
    return this.wire.call("GET", memoryPath(memory), { query: options });
  }
  /** Change what a memory says; null empties what can be empty. */
  update(memory: string, fields: t.ChangeMemory, { version, ...query }: InConversation & AtVersion = {}): Promise<t.Memory> {
    return this.wire.call("PATCH", memoryPath(memory), { body: fields, query, version });
  }
  /** Delete a memory; its history and the messages that it came from stay. */
  delete(memory: string, { version, ...query }: InConversation & AtVersion = {}): Promise<void> {
    return this.wire.call("DELETE", memoryPath(memory), { query, version });
  }
  /** Bring a deleted memory back as it was. */
  restore(memory: string, { version, ...query }: InConversation & AtVersion = {}): Promise<t.Memory> {
    return this.wire.call("POST", `${memoryPath(memory)}/restore`, { query, version });
  }
  /** Say what a memory was worth; null takes it back. */
  rate(memory: string, feedback: t.RateMemory["feedback"], { reason, ...query }: InConversation & { reason?: string } = {}): Promise<t.Memory> {
    return this.wire.call("PUT", `${memoryPath(memory)}/feedback`, { body: { feedback, reason }, query });
  }
  /** List what passes a tree of filters, such as `{ AND: [{ user: "ann" }, { NOT: { category: "work" } }] }`. */
  query(filters: Record<string, unknown>, options: Omit<t.QueryMemories, "filters"> = {}): Promise<t.MemoryPage> {
    return this.wire.call("POST", "/v1/query/semantic", { body: { filters, ...options } });
  }
  /** Delete up to 1,000 memories that pass the filters and may be written; a dry run only counts them. */
  deleteMatching(filters: Record<string, unknown>, options: Omit<t.DeleteMemories, "filters"> = {}): Promise<t.DeletedMemories> {
    return this.wire.call("POST", "/v1/delete/semantic", { body: { filters, ...options } });
  }
  history(memory: string, options: InConversation & Paging = {}): Promise<t.MemoryHistory> {
    return this.wire.call("GET", `${memoryPath(memory)}/history`, { query: options });
  }
  /** Tell what would be remembered of a talk such as `Ann: I moved.`, and what refused; nothing is stored. */
  tryExtraction(text: string, options: Omit<t.TryExtraction, "text"> = {}): Promise<t.ExtractionTrial> {
    return this.wire.call("POST", "/v1/try/extraction", { body: { text, ...options } });
  }
}

/** What a conversation was about, in trees that lead down to the exact words. */
export class Summaries {
  constructor(private readonly wire: Transport) {}

  tree(conversation: string): Promise<t.SummaryTree> {
    return this.wire.call("GET", `${conversationPath(conversation)}/summaries`);
  }
  /** Summarise now what has no summary yet, and read them all; call again while messages are `left`. */
  make(conversation: string): Promise<t.MadeSummaries> {
    return this.wire.call("POST", `${conversationPath(conversation)}/summaries`);
  }
  /** Read a summary and what it was made from. */
  get(summary: string, options: { cursor?: string } = {}): Promise<t.SummaryWithSources> {
    return this.wire.call("GET", `/v1/summaries/${segment(summary, "summary")}`, { query: options });
  }
}

/** What was said and must not be paraphrased: found by Keepword, or pinned. */
export class Landmarks {
  constructor(private readonly wire: Transport) {}

  /** Pin a part of a message word for word, or without `text` all of it. */
  pin(conversation: string, message: string, fields: Omit<t.PinLandmark, "conversation" | "message"> = {}): Promise<t.Landmark> {
    return this.wire.call("POST", "/v1/landmarks", { body: { conversation, message, ...fields } });
  }
  unpin(landmark: string): Promise<void> {
    return this.wire.call("DELETE", `/v1/landmarks/${segment(landmark, "landmark")}`);
  }
  list(options: InConversation & Paging & { kind?: t.Landmark["kind"] } = {}): Promise<t.LandmarkPage> {
    return this.wire.call("GET", "/v1/landmarks", { query: options });
  }
}

/** A conversation's scratch fields, with a lifetime that every read and write refreshes. */
export class WorkingMemory {
  constructor(private readonly wire: Transport) {}

  get(conversation: string): Promise<Record<string, unknown>> {
    return this.wire.call("GET", workingPath(conversation));
  }
  /** Merge fields in, all or nothing. */
  put(conversation: string, fields: Record<string, unknown>, options: { ttl_seconds?: number } = {}): Promise<t.WorkingMemorySize> {
    return this.wire.call("PUT", workingPath(conversation), { body: { data: fields, ...options } });
  }
  /** Delete the named fields; one that is not there is passed over. */
  delete(conversation: string, fields: string[]): Promise<void> {
    return this.wire.call("DELETE", workingPath(conversation), { body: { fields } });
  }
  clear(conversation: string): Promise<void> {
    return this.wire.call("DELETE", workingPath(conversation));
  }
}

/** What was already injected into a conversation; it never expires. */
export class Ledger {
  constructor(private readonly wire: Transport) {}

  get(conversation: string): Promise<Record<string, string>> {
    return this.wire.call("GET", ledgerPath(conversation));
  }
  /** Return what the item was marked with, null if it was not. */
  async check(conversation: string, item: string): Promise<string | null> {
    return (await this.wire.call<t.LedgerCheck>("POST", `${ledgerPath(conversation)}/check`, { body: { item_key: item } })).value;
  }
  /** Mark an item as injected; true to exactly one of all who do. */
  async mark(conversation: string, item: string, value?: string): Promise<boolean> {
    return (await this.wire.call<t.LedgerMark>("POST", `${ledgerPath(conversation)}/mark`, { body: { item_key: item, value } })).first;
  }
  /** Forget an item, so that it may be injected again; false if it was not there. */
  async evict(conversation: string, item: string): Promise<boolean> {
    return (await this.wire.call<t.LedgerEviction>("POST", `${ledgerPath(conversation)}/evict`, { body: { item_key: item } })).evicted;
  }
}

function scopePath(kind: ScopeKind, scope: string): string {
  return `/v1/facts/${segment(kind, "kind")}/${segment(scope, "scope")}`;
}
function factPath(kind: ScopeKind, scope: string, key: string): string {
  return `${scopePath(kind, scope)}/${segment(key, "key")}`;
}
function memoryPath(memory: string): string {
  return `/v1/semantic/${segment(memory, "memory")}`;
}
function workingPath(conversation: string): string {
  return `/working-memory/${segment(conversation, "conversation")}`;
}
function ledgerPath(conversation: string): string {
  return `/ledger/${segment(conversation, "conversation")}`;
}
