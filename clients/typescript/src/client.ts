import { Unauthenticated, InvalidInput } from "./errors.js";
import { Agents, Conversations, type ErasureOptions, Projects, Rooms, Users, conversationPath } from "./places.js";
import { Facts, Landmarks, Ledger, Memories, Summaries, WorkingMemory } from "./knowledge.js";
import { Audit, Imports, Jobs, Keys, Webhooks } from "./operations.js";
import { Files, Items, Turns } from "./stored.js";
import { Transport, actingHeaders, segment } from "./transport.js";
import type * as t from "./types.js";

export interface ClientOptions {
  /** The API key; none is needed on loopback until one is made. */
  key?: string;
  agent?: string;
  user?: string;
  /** Longest time that a call may take; 60 by default. */
  timeoutSeconds?: number;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** A message to append: of Keepword's own form, or of the OpenAI or Anthropic API. */
export type MessageInput = t.NewMessage | ({ role: string } & Record<string, unknown>);
type Without<T, K extends keyof T> = Omit<T, K>;

export interface AccessOptions {
  user?: string;
  agent?: string;
  role?: "admin" | "agent" | "reader";
  bound?: "nobody" | "agent" | "user" | "both";
  /** Up to 100 ids. */
  message?: string[];
  reach?: "own" | "user" | "project";
}

export interface BrowseOptions {
  conversation?: string;
  limit?: number;
  order?: "asc" | "desc";
  cursor?: string;
  since?: string;
  before?: string;
  window?: string;
  agent?: string;
  user?: string;
  role?: "user" | "assistant" | "system" | "tool";
  reach?: "own" | "user" | "project";
}

/** Calls a running service: `new Client("http://127.0.0.1:8002", { key })`. Arguments have the API's own names. */
export class Client {
  readonly conversations: Conversations;
  readonly users: Users;
  readonly agents: Agents;
  readonly rooms: Rooms;
  readonly projects: Projects;
  readonly facts: Facts;
  readonly memories: Memories;
  readonly summaries: Summaries;
  readonly landmarks: Landmarks;
  readonly working: WorkingMemory;
  readonly ledger: Ledger;
  readonly turns: Turns;
  readonly files: Files;
  readonly items: Items;
  readonly keys: Keys;
  readonly jobs: Jobs;
  readonly audit: Audit;
  readonly imports: Imports;
  readonly webhooks: Webhooks;
  private readonly wire: Transport;

  constructor(url: string | Transport = "http://127.0.0.1:8002", options: ClientOptions = {}) {
    const wire = url instanceof Transport ? url : connect(url, options);
    this.wire = wire;
    this.conversations = new Conversations(wire);
    this.users = new Users(wire);
    this.agents = new Agents(wire);
    this.rooms = new Rooms(wire);
    this.projects = new Projects(wire);
    this.facts = new Facts(wire);
    this.memories = new Memories(wire);
    this.summaries = new Summaries(wire);
    this.landmarks = new Landmarks(wire);
    this.working = new WorkingMemory(wire);
    this.ledger = new Ledger(wire);
    this.turns = new Turns(wire);
    this.files = new Files(wire);
    this.items = new Items(wire);
    this.keys = new Keys(wire);
    this.jobs = new Jobs(wire);
    this.audit = new Audit(wire);
    this.imports = new Imports(wire);
    this.webhooks = new Webhooks(wire);
  }

  /** Return the same calls, made for this agent or user: what they may not see is not there. */
  acting({ agent, user }: { agent?: string; user?: string }): Client {
    return new Client(this.wire.acting(agent, user));
  }

  /** Append one message; when this resolves it is on disk. `event_id` makes a retry store nothing twice. */
  async append(conversation: string, content: string | Record<string, unknown>[], options: Without<Partial<t.NewMessage>, "content"> = {}): Promise<t.Receipt> {
    const [receipt] = await this.appendAll(conversation, [{ role: "user", content, ...options } as MessageInput]);
    return receipt!;
  }

  /** Append up to 1,000 messages, all or nothing; the receipts are in their order. */
  async appendAll(conversation: string, messages: MessageInput[], { isImport = false }: { isImport?: boolean } = {}): Promise<t.Receipt[]> {
    const query = isImport ? { import: true } : {};
    const path = `${conversationPath(conversation)}/messages`;
    return (await this.wire.call<t.Receipts>("POST", path, { body: messages, query })).messages;
  }

  /** Find what matters in all that may be read in the conversation's place, best first. */
  search(query: string, options: Without<t.SearchBody, "query"> = {}): Promise<t.SearchResults> {
    return this.wire.call("POST", "/v1/search", { body: { query, ...options } });
  }

  /** Read all that may be read in the conversation's place, in time order, a page at a time. */
  browse(options: BrowseOptions = {}): Promise<t.MessagePage> {
    return this.wire.call("GET", "/v1/browse", { query: options });
  }

  /** Return all that the agent should see before it answers the message, within budget. */
  compose(conversation: string, message: string, options: Without<t.ComposeBody, "conversation" | "message"> = {}): Promise<t.ComposedContext> {
    return this.wire.call("POST", "/v1/compose", { body: { conversation, message, ...options } });
  }

  /** Read up to 100 messages, summaries, memories and landmarks by their ids; what may not be read is missing. */
  async sources(ids: string[], options: { conversation?: string; reach?: "own" | "user" | "project" } = {}): Promise<t.Source[]> {
    return (await this.wire.call<t.Sources>("GET", "/v1/sources", { query: { id: ids, ...options } })).sources;
  }

  /** Tell what they may read in the conversation's place, and which of up to 100 messages they would see there. */
  access(conversation: string, options: AccessOptions = {}): Promise<t.AccessReport> {
    return this.wire.call("GET", "/v1/access", { query: { conversation, ...options } });
  }

  /** Erase all that the key's tenant has, and revoke its keys, this one too. Of the owner's alone. */
  eraseTenant(options: ErasureOptions = {}): Promise<t.Erasure> {
    return this.wire.call("DELETE", "/v1/tenant", { query: options });
  }

  /** Tell how far an erasure is. */
  erasure(id: string): Promise<t.Erasure> {
    return this.wire.call("GET", `/v1/erasures/${segment(id, "erasure")}`);
  }

  /** Tell what the doctor finds, and the service's settings: for the owner, on the service's machine. */
  service(): Promise<t.ServiceReport> {
    return this.wire.call("GET", "/v1/service");
  }

  /** Tell what this key may do, and for whom it acts. */
  whoami(): Promise<t.WhoAmI> {
    return this.wire.call("GET", "/v1/whoami");
  }

  /** Tell how it stands: alerts, queues, coverage and a census. */
  stats(options: { conversation?: string } = {}): Promise<t.Stats> {
    return this.wire.call("GET", "/v1/stats", { query: options });
  }

  /** Count the messages of each of the last days, up to 366; 30 by default. Of the owner's alone. */
  growth(options: { days?: number } = {}): Promise<t.Growth> {
    return this.wire.call("GET", "/v1/stats/growth", { query: options });
  }

  /** Open a tenant of its own for the demo's story: for the owner, on the service's machine. */
  demo(): Promise<t.Demo> {
    return this.wire.call("POST", "/v1/demo");
  }

  /** Make any request of the API: for what has no call of its own here. */
  request<T = unknown>(method: string, path: string, options: { body?: unknown; query?: object } = {}): Promise<T> {
    return this.wire.call<T>(method, path, options);
  }
}

function connect(url: string, { key, agent, user, timeoutSeconds = 60, fetch: send }: ClientOptions): Transport {
  const at = baseUrl(url);
  const headers = actingHeaders(agent, user);
  if (key !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new Unauthenticated("the key is not one of Keepword's; give it as it was shown when it was made: kw_...");
    }
    headers["Authorization"] = `Bearer ${key}`;
  }
  // an unbound fetch fails in browsers
  return new Transport(at, headers, timeoutSeconds, send ?? ((input, init) => globalThis.fetch(input, init)));
}

function baseUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !["http:", "https:"].includes(parsed.protocol)) {
    throw new InvalidInput(`url ${JSON.stringify(url)} is no address of a service; one is written like http://127.0.0.1:8002`, 0, null, "url");
  }
  return url.replace(/\/+$/, "");
}
