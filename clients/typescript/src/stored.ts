import { InvalidInput } from "./errors.js";
import { type Paging, conversationPath } from "./places.js";
import { type Transport, segment } from "./transport.js";
import type * as t from "./types.js";

export interface FileTree {
  scope?: "agent" | "user" | "room" | "project";
  id?: string;
  /** The agent of a user's tree. */
  agent?: string;
  /** A conversation in the project of a project's tree. */
  conversation?: string;
}

/**
 * Files by their paths, which begin with /memories. Without a scope they are those of the user with the agent for whom
 * the calls are made, or of the agent alone.
 */
export class Files {
  constructor(
    private readonly wire: Transport,
    private readonly tree: FileTree = {},
  ) {}

  /** Return the same calls for another tree. */
  of(scope: NonNullable<FileTree["scope"]>, id?: string, options: Pick<FileTree, "agent" | "conversation"> = {}): Files {
    return new Files(this.wire, { scope, ...(id === undefined ? {} : { id }), ...options });
  }
  /** Run a command of Claude's memory tool, such as `{ command: "view", path: "/memories" }`. */
  async command(command: t.MemoryToolCommand): Promise<string> {
    const path = "/v1/memory-tool";
    return (await this.wire.call<t.CommandResult>("POST", path, { body: command, query: this.tree })).text;
  }
  /** List the files in a folder and all folders below it, by path. */
  list(under?: string, options: Paging = {}): Promise<t.FilePage> {
    return this.wire.call("GET", "/v1/files", { query: { ...this.tree, under, ...options } });
  }
  get(path: string): Promise<t.StoredFile> {
    return this.wire.call("GET", "/v1/file", { query: { ...this.tree, path } });
  }
  /** Read a former version; without content the file was deleted then, or the words were erased. */
  version(path: string, version: number): Promise<t.FileVersionText> {
    return this.wire.call("GET", "/v1/file/version", { query: { ...this.tree, path, version } });
  }
  /** Write a file as a whole; with `sha256` only over a file that has it, "" only if there is none. */
  put(path: string, content: string, options: { sha256?: string } = {}): Promise<t.TreeFile> {
    return this.wire.call("PUT", "/v1/file", { body: { content, ...options }, query: { ...this.tree, path } });
  }
  /** Delete a file, or a folder with all in it; the versions stay. */
  delete(path: string, options: { sha256?: string } = {}): Promise<void> {
    return this.wire.call("DELETE", "/v1/file", { query: { ...this.tree, path, ...options } });
  }
  versions(path: string, options: Paging = {}): Promise<t.FileVersionPage> {
    return this.wire.call("GET", "/v1/file/versions", { query: { ...this.tree, path, ...options } });
  }
  /** Erase the words of a former version, for good. The tenant's owner may. */
  redact(path: string, version: number): Promise<void> {
    return this.wire.call("POST", "/v1/file/redact", { body: { version }, query: { ...this.tree, path } });
  }
  /** Find the files that hold all words of the query, the latest written first. */
  search(query: string, options: { limit?: number } = {}): Promise<t.FileMatches> {
    return this.wire.call("POST", "/v1/search/files", { body: { query, ...options }, query: this.tree });
  }
}

/** Values under a namespace, a list of labels, and a key: of the agent or user for whom the calls are made. */
export class Items {
  constructor(private readonly wire: Transport) {}

  /** Return an item, or null where there is none; its lifetime begins anew unless `refresh_ttl` is false. */
  async get(namespace: string[], key: string, options: { refresh_ttl?: boolean } = {}): Promise<t.StoredItem | null> {
    if (namespace.some((label) => label.includes(".")))
      throw new InvalidInput(`namespace ${JSON.stringify(namespace)} has a label with a dot, which none may hold`, 0, null, "namespace");
    return this.wire.call("GET", "/store/items", { query: { namespace: namespace.join("."), key, ...options } });
  }
  /** Store a value in place of the former one. `index`: the paths that are searched; `ttl` is in minutes. */
  put(namespace: string[], key: string, value: Record<string, unknown>, options: { index?: string[] | false; ttl?: number } = {}): Promise<void> {
    return this.wire.call("PUT", "/store/items", { body: { namespace, key, value, ...options } });
  }
  /** Delete an item for good; one that is not there is passed over. */
  delete(namespace: string[], key: string): Promise<void> {
    return this.wire.call("DELETE", "/store/items", { body: { namespace, key } });
  }
  /** Find items that pass the filter: with a query the best first, else the last changed first. */
  search(prefix: string[] = [], options: Omit<t.SearchItemsBody, "namespace_prefix"> = {}): Promise<t.ItemHits> {
    return this.wire.call("POST", "/store/items/search", { body: { namespace_prefix: prefix, ...options } });
  }
  /** List the namespaces that hold items; in `prefix` and `suffix` a `*` stands for any one label. */
  async namespaces(options: t.NamespacesBody = {}): Promise<string[][]> {
    return (await this.wire.call<t.Namespaces>("POST", "/store/namespaces", { body: options })).namespaces;
  }
  /** Do up to 1,000 operations in one request; results are in their order. */
  async batch(ops: t.BatchBody["ops"]): Promise<t.ItemResult[]> {
    return (await this.wire.call<t.ItemResults>("POST", "/store/batch", { body: { ops } })).results ?? [];
  }
}

/** What agents saw: composed turns, kept without their words, which are read again by whoever looks. */
export class Turns {
  constructor(private readonly wire: Transport) {}

  /** List the turns that were composed in a conversation, the newest first. */
  list(conversation: string, options: Paging = {}): Promise<t.TurnPage> {
    return this.wire.call("GET", `${conversationPath(conversation)}/turns`, { query: options });
  }
  /** Read a turn with its lines as they read now, what was left out and why. */
  get(turn: string): Promise<t.TurnDetail> {
    return this.wire.call("GET", `/v1/turns/${segment(turn, "turn")}`);
  }
}
