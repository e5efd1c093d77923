import { type Transport, segment } from "./transport.js";
import type * as t from "./types.js";

export interface Paging {
  limit?: number;
  cursor?: string;
}
export interface ReadOptions extends Paging {
  order?: "asc" | "desc";
  since?: string;
  before?: string;
  window?: string;
}
export interface ErasureOptions {
  /** Count what would go, and erase nothing. */
  dry_run?: boolean;
}
/** Which conversations to list. */
export interface ListConversations extends Paging {
  [filter: string]: string | number | boolean | undefined;
}

export class Conversations {
  constructor(private readonly wire: Transport) {}

  /** Make a conversation, or change the given fields of one; its place is fixed. */
  put(conversation: string, fields: t.PutConversation = {}): Promise<t.Conversation> {
    return this.wire.call("PUT", conversationPath(conversation), { body: fields });
  }
  get(conversation: string): Promise<t.Conversation> {
    return this.wire.call("GET", conversationPath(conversation));
  }
  list(options: ListConversations = {}): Promise<t.ConversationPage> {
    return this.wire.call("GET", "/v1/conversations", { query: options });
  }
  /** Read the messages of this conversation alone, a page at a time. */
  messages(conversation: string, options: ReadOptions = {}): Promise<t.MessagePage> {
    return this.wire.call("GET", `${conversationPath(conversation)}/messages`, { query: options });
  }
  /** Take a message back: from the next call on nobody but the tenant's owner reads it, or what came of it. */
  retract(conversation: string, seq: number, options: { reason?: string } = {}): Promise<t.RetractedMessage> {
    return this.wire.call("POST", `${conversationPath(conversation)}/messages/${seq}/retract`, { body: options });
  }
  /** Undo a retraction; what had been derived from the message is made again. */
  unretract(conversation: string, seq: number): Promise<void> {
    return this.wire.call("DELETE", `${conversationPath(conversation)}/messages/${seq}/retract`);
  }
  /** Erase a conversation for good; `dry_run` only counts. Its user may, and an admin who may write there. */
  erase(conversation: string, options: ErasureOptions = {}): Promise<t.Erasure> {
    return this.wire.call("DELETE", conversationPath(conversation), { query: options });
  }
  /** Erase one message for good, with what was derived from it alone. */
  eraseMessage(conversation: string, seq: number, options: ErasureOptions = {}): Promise<t.Erasure> {
    return this.wire.call("DELETE", `${conversationPath(conversation)}/messages/${seq}`, { query: options });
  }
  /** Tell for how many days it keeps its messages. */
  retention(conversation: string): Promise<t.Retention> {
    return this.wire.call("GET", `${conversationPath(conversation)}/retention`);
  }
  /** Erase its messages after so many days; null: as its room or the tenant says. */
  setRetention(conversation: string, days: number | null): Promise<t.Retention> {
    return this.wire.call("PUT", `${conversationPath(conversation)}/retention`, { body: { days } });
  }
  /** Return the last messages of the conversation's place. */
  buffer(conversation: string): Promise<t.Buffer> {
    return this.wire.call("GET", `${conversationPath(conversation)}/buffer`);
  }
}

export class Users {
  constructor(private readonly wire: Transport) {}

  /** Make a user, or rename one. */
  put(user: string, fields: t.PutNamed = {}): Promise<t.User> {
    return this.wire.call("PUT", userPath(user), { body: fields });
  }
  get(user: string): Promise<t.User> {
    return this.wire.call("GET", userPath(user));
  }
  list(options: Paging = {}): Promise<t.UserPage> {
    return this.wire.call("GET", "/v1/users", { query: options });
  }
  /** Return all that is kept of a user, a JSON object a line: for them and for the tenant's owner. */
  export(user: string): Promise<string> {
    return this.wire.text("GET", `${userPath(user)}/export`);
  }
  /** Erase a user for good: what they said, their conversations, and all that is kept about them. */
  erase(user: string, options: ErasureOptions = {}): Promise<t.Erasure> {
    return this.wire.call("DELETE", userPath(user), { query: options });
  }
}

export class Agents {
  constructor(private readonly wire: Transport) {}

  /** Describe an agent; `context_window` is in tokens. */
  put(slug: string, fields: t.PutAgent = {}): Promise<t.Agent> {
    return this.wire.call("PUT", agentPath(slug), { body: fields });
  }
  get(slug: string): Promise<t.Agent> {
    return this.wire.call("GET", agentPath(slug));
  }
  list(options: Paging = {}): Promise<t.AgentPage> {
    return this.wire.call("GET", "/v1/agents", { query: options });
  }
  /** Let the agent's own key act with the user. */
  introduce(slug: string, user: string): Promise<void> {
    return this.wire.call("PUT", `${agentPath(slug)}/users/${segment(user, "user")}`);
  }
  /** Take that back; it counts from the next call on. */
  withdraw(slug: string, user: string): Promise<void> {
    return this.wire.call("DELETE", `${agentPath(slug)}/users/${segment(user, "user")}`);
  }
  users(slug: string, options: Paging = {}): Promise<t.IntroducedPage> {
    return this.wire.call("GET", `${agentPath(slug)}/users`, { query: options });
  }
  files(slug: string, options: Paging = {}): Promise<t.AgentFiles> {
    return this.wire.call("GET", `${agentPath(slug)}/files`, { query: options });
  }
  file(slug: string, name: string): Promise<t.AgentFile> {
    return this.wire.call("GET", filePath(slug, name));
  }
  /** Write a file as a whole, such as SOUL.md; the versions before it stay. */
  putFile(slug: string, name: string, content: string): Promise<t.AgentFile> {
    return this.wire.call("PUT", filePath(slug, name), { body: { content } });
  }
  deleteFile(slug: string, name: string): Promise<void> {
    return this.wire.call("DELETE", filePath(slug, name));
  }
}

export class Rooms {
  constructor(private readonly wire: Transport) {}

  /** Make a room, or rename one. */
  put(room: string, fields: t.PutNamed = {}): Promise<t.Room> {
    return this.wire.call("PUT", roomPath(room), { body: fields });
  }
  get(room: string): Promise<t.Room> {
    return this.wire.call("GET", roomPath(room));
  }
  list(options: Paging = {}): Promise<t.RoomPage> {
    return this.wire.call("GET", "/v1/rooms", { query: options });
  }
  /** Tell for how many days it keeps its messages. */
  retention(room: string): Promise<t.Retention> {
    return this.wire.call("GET", `${roomPath(room)}/retention`);
  }
  /** Erase its messages after so many days; null: as the tenant says. */
  setRetention(room: string, days: number | null): Promise<t.Retention> {
    return this.wire.call("PUT", `${roomPath(room)}/retention`, { body: { days } });
  }
  participants(room: string): Promise<t.Participants> {
    return this.wire.call("GET", `${roomPath(room)}/participants`);
  }
  /** Let a user join; from the next read on, old messages included. */
  addUser(room: string, user: string): Promise<void> {
    return this.wire.call("PUT", `${roomPath(room)}/participants/users/${segment(user, "user")}`);
  }
  /** Let a user leave; the next read shows them nothing of the room. */
  removeUser(room: string, user: string): Promise<void> {
    return this.wire.call("DELETE", `${roomPath(room)}/participants/users/${segment(user, "user")}`);
  }
  addAgent(room: string, slug: string): Promise<void> {
    return this.wire.call("PUT", `${roomPath(room)}/participants/agents/${segment(slug, "agent")}`);
  }
  removeAgent(room: string, slug: string): Promise<void> {
    return this.wire.call("DELETE", `${roomPath(room)}/participants/agents/${segment(slug, "agent")}`);
  }
}

export class Projects {
  constructor(private readonly wire: Transport) {}

  put(project: string, fields: t.PutProject = {}): Promise<t.ProjectPut> {
    return this.wire.call("PUT", projectPath(project), { body: fields });
  }
  get(project: string): Promise<t.Project> {
    return this.wire.call("GET", projectPath(project));
  }
  list(options: Paging = {}): Promise<t.ProjectPage> {
    return this.wire.call("GET", "/v1/projects", { query: options });
  }
  members(project: string): Promise<t.Members> {
    return this.wire.call("GET", `${projectPath(project)}/members`);
  }
  /** Put a conversation or a room into the project; it leaves the one that it was in. */
  add(project: string, kind: "conversations" | "rooms", member: string): Promise<void> {
    return this.wire.call("PUT", `${projectPath(project)}/members/${kind}/${segment(member, "member")}`);
  }
  remove(project: string, kind: "conversations" | "rooms", member: string): Promise<void> {
    return this.wire.call("DELETE", `${projectPath(project)}/members/${kind}/${segment(member, "member")}`);
  }
}

export function conversationPath(conversation: string): string {
  return `/v1/conversations/${segment(conversation, "conversation")}`;
}
function userPath(user: string): string {
  return `/v1/users/${segment(user, "user")}`;
}
function agentPath(slug: string): string {
  return `/v1/agents/${segment(slug, "agent")}`;
}
function filePath(slug: string, name: string): string {
  return `${agentPath(slug)}/files/${segment(name, "name")}`;
}
function roomPath(room: string): string {
  return `/v1/rooms/${segment(room, "room")}`;
}
function projectPath(project: string): string {
  return `/v1/projects/${segment(project, "project")}`;
}
