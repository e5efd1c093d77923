// Written by scripts/generate_typescript.py from the service's OpenAPI document.

/** What a viewer may read in a place: `reads` says it in words. */
export interface AccessReport {
  conversation: string;
  kind: "room" | "direct" | "session";
  run_id: string;
  agent: string | null;
  user: string | null;
  enters: boolean;
  reach: "own" | "user" | "project" | null;
  reads: string[];
  writes: boolean;
  run_ids: string[];
  visibilities: ("public" | "private" | "shared")[];
  verdicts: Verdict[];
}

/** A memory to keep in a conversation's place, or of a project: then in all of the project's places. */
export interface AddMemory {
  /** in whose place; with a project, an unbound admin may leave it out */
  conversation?: string | null;
  /** keep it for this project, as project:<id>, shared, of no user */
  project?: string | null;
  /** one sentence that can be understood alone, up to 8 KiB */
  content: string;
  type?: "correction" | "preference" | "decision" | "fact" | "task" | "action";
  /** default: as its type says */
  importance?: number | null;
  confidence?: number;
  /** whom it is from; default: the conversation's user */
  user?: string | null;
  /** default: the conversation's agent */
  agent?: string | null;
  /** the messages that it comes from */
  sources?: string[];
  metadata?: Record<string, JsonValue>;
  categories?: string[];
  /** from then on it is found and shown no more */
  expires_at?: string | null;
}

/** Whom to tell of what. */
export interface AddWebhook {
  /** where deliveries are POSTed to; a public address, unless the service allows others */
  url: string;
  /** such as `memory.added`, `memory` for all of memories, `*` for all */
  events: string[];
  name?: string;
}

/** `context_window` is in tokens. */
export interface Agent {
  slug: string;
  name: string | null;
  context_window: number;
  created_at: string;
}

/** One version; without content it says that the file was deleted. */
export interface AgentFile {
  name: string;
  version: number;
  content: string | null;
  written_at: string;
}

export interface AgentFiles {
  files: AgentFile[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

export interface AgentPage {
  agents: Agent[];
  next: string | null;
}

export interface AnthropicCall {
  system: string;
  messages: AnthropicMessage[];
}

/** A plain dict, as the Anthropic SDK takes it; with tools its content is a list of blocks. */
export interface AnthropicMessage {
  role: "user" | "assistant";
  content: string | Record<string, unknown>[];
}

/** A key without its secret; `agent` and `user` are those that it is bound to. */
export interface ApiKey {
  id: string;
  role: "admin" | "agent" | "reader";
  agent: string | null;
  user: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

/** The newest is first. */
export interface ApiKeyPage {
  keys: ApiKey[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

export interface AuditEvent {
  id: string;
  at: string;
  /** the key's id; null: no key, the command line on the service's machine, or background work */
  key: string | null;
  /** `user:ann`, `agent:ada`, `owner`, `key:ID` of one that is bound to nobody, `command line` or `background` */
  actor: string;
  /** what was done, such as `key.made` or `memory.deleted` */
  action: string;
  /** the run_id that it was done in, if there is one */
  place: string | null;
  /** what it was done to: ids, names of settings, numbers */
  ids: Record<string, unknown>;
}

/** The newest is first. */
export interface AuditPage {
  events: AuditEvent[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

/** Operations to do at once; what is read is read before anything is put, and all puts are one write. */
export interface BatchBody {
  ops: (GetOperation | PutOperation | SearchOperation | NamespacesOperation)[];
}

/** The newest is last. */
export interface Buffer {
  messages: BufferedMessage[];
}

/** A message as the buffer shows it: who, when, what. */
export interface BufferedMessage {
  id: string;
  conversation: string;
  seq: number;
  role: "user" | "assistant" | "system" | "tool";
  user: string | null;
  agent: string | null;
  ts: string;
  text: string;
  tool_name: string | null;
  tool_args: unknown;
  tool_result: string | null;
  attachments: unknown[];
  tool_call_id: string | null;
}

export interface CalledFunction {
  name: string;
  arguments: string;
}

export interface ChangeMemory {
  content?: string | null;
  type?: "correction" | "preference" | "decision" | "fact" | "task" | "action" | null;
  importance?: number | null;
  confidence?: number | null;
  /** as a whole; null empties it */
  metadata?: Record<string, JsonValue> | null;
  /** as a whole; null empties them */
  categories?: string[] | null;
  /** null takes the end away */
  expires_at?: string | null;
}

/** What to change; the rest stays. `is_active` true starts one again that was stopped. */
export interface ChangeWebhook {
  url?: string | null;
  events?: string[] | null;
  name?: string | null;
  is_active?: boolean | null;
}

export interface ChangedProfileDocument {
  data: {
    type: "memory";
    id: string;
    attributes?: {
      type?: "user" | "workspace";
      memory?: string;
    };
    relationships?: {
      workspace?: {
        data: {
          type: "workspace";
          id: string;
        };
      };
      membership?: {
        data: {
          type: "membership";
          id: string;
        } | null;
      };
    };
  };
}

/** A plain dict, as the OpenAI SDK takes it; a call of tools without words has no content. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content?: string;
  tool_calls?: OpenAIToolCall[];
  tool_call_id?: string;
}

/** A finding: the message, summary, memory or landmark, and its number in the answer. */
export interface Cite {
  number: number;
  kind: "message" | "summary" | "memory" | "landmark";
  id: string;
  conversation: string | null;
  seq: number | null;
}

/** What a command of Claude's memory tool answers, word for word. */
export interface CommandResult {
  text: string;
}

/** One turn: where it happens, who speaks to whom, and how much room there is. */
export interface ComposeBody {
  /** its place decides what may be read */
  conversation: string;
  /** for this call, in place of what was chosen for the session: `own`, `user` or, in a project, `project`; one that the place can't have has no effect. Default: what the template says */
  reach?: "own" | "user" | "project" | null;
  /** what the agent is asked now */
  message: string;
  /** who answers; default: the key's agent, else the conversation's */
  agent?: string | null;
  /** who speaks; default: the key's user, else the conversation's */
  user?: string | null;
  /** default: the agent's context window */
  window_tokens?: number | null;
  /** for injected context */
  budget_tokens?: number;
  /** for landmarks alone */
  landmark_tokens?: number;
  /** for the agent's own files alone */
  workspace_tokens?: number;
  /** for summaries alone */
  summary_tokens?: number;
  /** which to fill, of workspace, session, facts, profile, recall, landmarks, summary, transcript, invocation; session and invocation are always there. Default: all */
  sections?: ("workspace" | "session" | "facts" | "profile" | "recall" | "landmarks" | "summary" | "transcript" | "invocation")[] | null;
  /** skip what was injected before in this conversation, and note what is now */
  ledger?: boolean;
  /** count no use, mark nothing, compact nothing */
  dry_run?: boolean;
  template?: string;
  /** how recall weighs its signals: best, fast, seed */
  recipe?: string;
  /** the chat message that holds facts, profile, recall, landmarks, summaries and working memory; in `system` a model may read them as instructions */
  quotes_in?: "user" | "system";
  /** how `messages` and `anthropic` show the agent's tool calls and their results: as the API's own structures, or told in `text`, for a call that declares no tools */
  tools_as?: "calls" | "text";
}

/** The context of one turn. `injected_tokens` count against the budget; `share` is of the window. `degraded` names the layers that were left out and why; `compacted` tells how many messages were just summarised. `proposed_tokens` are those of everything before messages gave way and before anything was cut to fit the window; `left_out` names what is not shown; `reach` tells which sessions were read, in a session. */
export interface ComposedContext {
  text: string;
  messages: ChatMessage[];
  anthropic: AnthropicCall;
  sections: Section[];
  tokens: number;
  injected_tokens: number;
  window_tokens: number;
  share: number;
  template: string;
  degraded: string[];
  compacted: number;
  proposed_tokens: number;
  left_out: LeftOut[];
  reach?: "own" | "user" | "project" | null;
}

/** A turn beside a hit; `source_id` names the message, summary, memory or landmark. */
export interface ContextMessage {
  kind: "message" | "summary" | "memory" | "landmark";
  source_id: string;
  part: number;
  run_id: string;
  conversation: string | null;
  seq: number | null;
  role: "user" | "assistant" | "system" | "tool" | null;
  user: string | null;
  agent: string | null;
  created_at: string;
  importance: number;
  text: string;
}

export interface Conversation {
  id: string;
  external_id: string;
  kind: "room" | "direct" | "session";
  run_id: string;
  visibility: "public" | "private" | "shared";
  user: string | null;
  agent: string;
  room: string | null;
  project: string | null;
  channel: string;
  channel_id: string | null;
  bot_identity: string | null;
  title: string | null;
  settings: Record<string, unknown>;
  active: boolean;
  /** what was chosen for the session; null: what the tenant chose */
  reach: "own" | "user" | null;
  message_count: number;
  created_at: string;
  updated_at: string;
  /** the name asked for, where that is a further one of external_id */
  alias?: string | null;
}

export interface ConversationPage {
  conversations: Conversation[];
  next: string | null;
}

export interface Create {
  command: "create";
  path: string;
  file_text: string;
}

/** How many messages are of a day, in the tenant's time zone; days without any are left out. */
export interface DayCount {
  day: string;
  messages: number;
}

export interface Delete {
  command: "delete";
  /** a file, or a folder with all in it */
  path: string;
}

/** Which fields to delete; without it, all. */
export interface DeleteFields {
  fields?: string[] | null;
}

/** Which memories to delete: those that pass the filters and may be written here. */
export interface DeleteMemories {
  /** as in a query; {} is refused */
  filters: Record<string, JsonValue>;
  /** in whose place; an unbound admin may leave it out */
  conversation?: string | null;
  /** only count them */
  dry_run?: boolean;
}

/** How many memories matched, and how many of them were deleted: none by a dry run, at most 1,000 by one call. */
export interface DeletedMemories {
  matched: number;
  deleted: number;
}

/** A tenant for the demo's story alone, a key for it, and the requests that tell it, to be made in their order. */
export interface Demo {
  tenant: string;
  /** manages that tenant for a day */
  secret: string;
  /** the story is there already: make none of the requests */
  is_told: boolean;
  story: DemoRequest[];
  /** to be asked when the worker has read the story, some seconds later */
  questions: DemoRequest[];
}

/** A request of the API that tells a part of the story. */
export interface DemoRequest {
  method: string;
  path: string;
  body: Record<string, unknown> | null;
}

/** A summary in AEGIS' words. */
export interface Episode {
  id: string;
  agent_id: string;
  user_id: string | null;
  conversation_id: string;
  summary: string;
  key_decisions: JsonValue[] | Record<string, JsonValue> | null;
  entities_mentioned: JsonValue[] | Record<string, JsonValue> | null;
  tools_called: JsonValue[] | Record<string, JsonValue> | null;
  created_at: string;
}

export interface EpisodeStored {
  id: string;
  conversation_id: string;
}

export interface Episodes {
  memories: Episode[];
}

/** How an erasure stands. What it erases is shown to nobody from the first moment on, in every state. */
export interface Erasure {
  /** null: a dry run, nothing goes */
  id: string | null;
  kind: "message" | "conversation" | "user" | "tenant";
  /** `running`: a worker deletes the rows; `erased`: all rows are gone, and the files of the database are being rewritten; `done`: these are rewritten, too */
  state: "dry run" | "running" | "erased" | "done";
  /** what goes, by kind, as it was counted at the beginning; of a kind with over 100,000 no more are counted, but for the messages of whole conversations */
  counts: Record<string, number>;
  /** how many messages have lost their words so far */
  erased_messages: number;
  requested_at?: string | null;
  erased_at?: string | null;
  done_at?: string | null;
  /** when no process of a service or worker was left that had been there before the rows were gone: each finishes its requests and begins anew */
  forgotten_at?: string | null;
}

export interface ErrorDocument {
  jsonapi: {
    version: string;
  };
  errors: {
    id?: string;
    status: string;
    title: string;
    detail: string;
    source?: {
      pointer?: string;
      parameter?: string;
      header?: string;
    };
  }[];
}

/** What would be kept of a talk, and what would not; nothing was stored. `model` read it beside the rules, or `rules` alone did; `reason` says why a model that was asked did not read all. */
export interface ExtractionTrial {
  messages: TriedMessage[];
  memories: TriedMemory[];
  landmarks: TriedLandmark[];
  /** sentences that the rules pass over */
  passed_over: RefusedSentence[];
  /** what the check refused of the model's */
  thrown_out: RefusedMemory[];
  model: string;
  reason: string | null;
  /** true if the talk has more messages than are read */
  is_cut: boolean;
}

/** `scope_id` is null for a global one; `type` is the declared one. */
export interface Fact {
  scope_kind: "user" | "project" | "room" | "global";
  scope_id: string | null;
  key: string;
  value: unknown;
  type: "string" | "number" | "integer" | "boolean" | "object" | "array" | null;
  version: number;
  source: string | null;
  confidence: number | null;
  created_at: string;
  updated_at: string;
}

/** The newest is first. */
export interface FactHistory {
  versions: FactVersion[];
  next: string | null;
}

export interface FactPage {
  facts: Fact[];
  next: string | null;
}

export interface FactVersion {
  version: number;
  deleted: boolean;
  /** null if it was deleted */
  value: unknown;
  type: "string" | "number" | "integer" | "boolean" | "object" | "array" | null;
  source: string | null;
  confidence: number | null;
  written_at: string;
}

/** A job that was given up, and why it failed last. */
export interface FailedJob {
  id: number;
  task: string;
  conversation: string | null;
  attempts: number;
  error: string | null;
  failed_at: string | null;
}

/** The newest is first. */
export interface FailedJobPage {
  jobs: FailedJob[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

/** A file that holds all words of a query, and the first line with one of them. */
export interface FileMatch {
  path: string;
  version: number;
  line: number;
  text: string;
  written_at: string;
}

export interface FileMatches {
  files: FileMatch[];
}

export interface FilePage {
  files: TreeFile[];
  next: string | null;
}

/** A version of a file, without its content. With `redacted_at` its words were erased. */
export interface FileVersion {
  path: string;
  version: number;
  operation: "created" | "modified" | "deleted";
  size: number | null;
  sha256: string | null;
  author: string;
  written_at: string;
  redacted_by: string | null;
  redacted_at: string | null;
}

export interface FileVersionPage {
  versions: FileVersion[];
  next: string | null;
}

export interface FileVersionText {
  path: string;
  version: number;
  operation: "created" | "modified" | "deleted";
  size: number | null;
  sha256: string | null;
  author: string;
  written_at: string;
  redacted_by: string | null;
  redacted_at: string | null;
  /** null if the file was deleted then, or its words were erased */
  content?: string | null;
}

/** The newest is first. */
export interface FileVersions {
  versions: AgentFile[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

/** What one check found; `fix` says what to do where it is not well. */
export interface Finding {
  name: string;
  ok: boolean;
  found: string;
  fix: string;
}

export interface FoundEpisode {
  id: string;
  agent_id: string;
  user_id: string | null;
  conversation_id: string;
  summary: string;
  key_decisions: JsonValue[] | Record<string, JsonValue> | null;
  entities_mentioned: JsonValue[] | Record<string, JsonValue> | null;
  tools_called: JsonValue[] | Record<string, JsonValue> | null;
  created_at: string;
  /** how near it comes to the query in meaning, up to 1 */
  similarity: number;
}

export interface FoundEpisodes {
  memories: FoundEpisode[];
}

export interface GetOperation {
  /** the labels of a namespace; none has a dot */
  namespace: string[];
  key: string;
  op: "get";
  refresh_ttl?: boolean | null;
}

/** The days are in order. */
export interface Growth {
  days: DayCount[];
}

export interface HTTPValidationError {
  detail?: ValidationError[];
}

export interface Health {
  status: string;
}

export interface HistoryImport {
  id: string;
  /** of which program, such as `chatgpt` or `slack` */
  kind: string;
  /** what the uploaded file is called */
  file: string;
  /** what was chosen when it was made */
  options: Record<string, unknown>;
  /** `checked`: a dry run has ended, and the upload is kept */
  state: "uploading" | "waiting" | "running" | "cancelling" | "checked" | "done" | "failed" | "cancelled";
  /** it is only read and counted; nothing is stored */
  dry_run: boolean;
  uploaded_bytes: number;
  /** how much was read of `total_bytes`, unpacked */
  read_bytes: number;
  /** 0 until it runs */
  total_bytes: number;
  /** counts of `conversations`, `messages`, `stored`, `known` (here before), `memories`, `files`; the first 200 `people` and who they are here; `left_out`: all that was not understood or changed, with its count and an example. Empty until it runs */
  report: Record<string, unknown>;
  /** why it failed, or why it waits */
  error: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

/** The newest is first. */
export interface HistoryImportPage {
  imports: HistoryImport[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

/** `context` are the turns beside it; `why` is there if `explain` was asked for. */
export interface Hit {
  kind: "message" | "summary" | "memory" | "landmark";
  /** of the message, summary, memory or landmark */
  id: string;
  part: number;
  /** mode hybrid with best or fast: the chance that it answers; else a sum */
  score: number;
  text: string;
  role: "user" | "assistant" | "system" | "tool" | null;
  user: string | null;
  agent: string | null;
  created_at: string;
  run_id: string;
  conversation: string | null;
  seq: number | null;
  context: ContextMessage[];
  why: Reason | null;
  /** of a summary: what matches in what it was made from, best first */
  inside: Inside[];
  /** how near it comes in meaning, up to 1; null if not compared */
  similarity: number | null;
  /** the memory that holds now in place of what this message said */
  superseded_by?: string | null;
}

export interface Insert {
  command: "insert";
  path: string;
  /** after how many lines */
  insert_line: number;
  insert_text: string;
}

/** What matches inside a summary: a message that it covers, or a summary that it was made from. */
export interface Inside {
  kind: "message" | "summary" | "memory" | "landmark";
  id: string;
  score: number;
  text: string;
  role: "user" | "assistant" | "system" | "tool" | null;
  user: string | null;
  agent: string | null;
  created_at: string;
  seq: number | null;
}

export interface IntroducedPage {
  users: IntroducedUser[];
  next: string | null;
}

/** A user who is introduced to an agent. `introduced_by` is a key, None if nobody knows it any more. */
export interface IntroducedUser {
  user: string;
  introduced_by: string | null;
  introduced_at: string;
}

export interface Item {
  item_key: string;
}

/** `score` is null where nothing was searched for. */
export interface ItemHit {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  version?: number;
  expires_at?: string | null;
  score?: number | null;
}

/** `degraded`: what could not be searched by, and why. */
export interface ItemHits {
  items: ItemHit[];
  degraded?: string[];
}

/** Which item. */
export interface ItemName {
  /** the labels of a namespace; none has a dot */
  namespace: string[];
  key: string;
}

/** What one operation of a batch gave: the field of its kind, and none for a put. */
export interface ItemResult {
  item?: StoredItem | null;
  items?: ItemHit[] | null;
  namespaces?: string[][] | null;
}

/** In the order of the operations. */
export interface ItemResults {
  results?: ItemResult[];
}

export type JsonValue = unknown;

/** Labels that a namespace begins or ends with. */
export interface LabelsOperation {
  match: "prefix" | "suffix";
  /** the labels of a namespace; none has a dot */
  path: string[];
}

/** Something that was said, pinned word for word; `pinned_by` is null where Keepword found it. */
export interface Landmark {
  id: string;
  conversation: string;
  message: string;
  kind: "decision" | "spec" | "code" | "action" | "question" | "link" | "pin";
  text: string;
  role: string;
  user: string | null;
  agent: string | null;
  said_at: string;
  pinned_by: string | null;
  created_at: string;
}

export interface LandmarkPage {
  landmarks: Landmark[];
  next: string | null;
}

export interface LedgerCheck {
  injected: boolean;
  value: string | null;
}

export interface LedgerEviction {
  /** false if it was not there */
  evicted: boolean;
}

export interface LedgerMark {
  /** always true: it is in the ledger now */
  marked: boolean;
  /** true to exactly one of all callers: the one who may inject */
  first: boolean;
}

/** How many of a kind a section does not show, and why; "line" counts lines of a text that is shown in part. Messages also say which: `first_seq` and `last_seq` count inside `conversation`. */
export interface LeftOut {
  section: "workspace" | "session" | "facts" | "profile" | "recall" | "landmarks" | "summary" | "transcript" | "invocation";
  kind: "file" | "place" | "field" | "fact" | "profile" | "message" | "summary" | "memory" | "landmark" | "more" | "invocation" | "line";
  count: number;
  reason: "over the budget" | "over the window" | "injected before" | "repeated" | "summarised" | "older";
  conversation?: string | null;
  first_seq?: number | null;
  last_seq?: number | null;
}

/** `text` is as it is rendered; `links` are the ids of what it stands for beside its own source. */
export interface Line {
  kind: "file" | "place" | "field" | "fact" | "profile" | "message" | "summary" | "memory" | "landmark" | "more" | "invocation";
  id: string;
  text: string;
  tokens: number;
  score: number;
  reason: string;
  links?: string[];
}

/** A conversation's summaries after a call that made them; `left` messages have none, and wait for the next call. */
export interface MadeSummaries {
  summaries: SummaryNode[];
  left: number;
}

/** A new webhook. Its secret is not shown again. */
export interface MadeWebhook {
  webhook: Webhook;
  /** deliveries are signed with it (Standard Webhooks) */
  secret: string;
}

/** A key to make. An admin's that is bound to nobody manages the tenant. */
export interface MakeKey {
  role: "admin" | "agent" | "reader";
  /** bind it to this agent */
  agent?: string | null;
  /** bind it to this user, who is made if new */
  user?: string | null;
  /** how long it works, such as 90d, 12h or 1y; default: until it is revoked */
  expires?: string | null;
}

export interface MarkItem {
  item_key: string;
  value?: string;
}

export interface Mem0Add {
  messages: string | Mem0Message | Mem0Message[];
  user_id?: string | null;
  agent_id?: string | null;
  app_id?: string | null;
  run_id?: string | null;
  metadata?: Record<string, JsonValue> | null;
  categories?: string[] | null;
  /** false: keep each message as a memory, at once and as it is */
  infer?: boolean | null;
  /** when it was said, in Unix seconds */
  timestamp?: number | null;
  /** the last day, as 2024-01-31 */
  expiration_date?: string | null;
}

export interface Mem0BatchChange {
  memory_id: string;
  text?: string | null;
  metadata?: Record<string, JsonValue> | null;
}

export interface Mem0BatchDelete {
  memories: Mem0BatchMemory[];
}

export interface Mem0BatchMemory {
  memory_id: string;
}

export interface Mem0BatchUpdate {
  memories: Mem0BatchChange[];
}

export interface Mem0Change {
  text?: string | null;
  /** another word for text in older clients */
  data?: string | null;
  metadata?: Record<string, JsonValue> | null;
  expiration_date?: string | null;
}

export interface Mem0Message {
  role: string;
  content?: JsonValue;
}

export interface Mem0ProjectChange {
  custom_instructions?: string | null;
  custom_categories?: JsonValue;
  multilingual?: boolean | null;
  decay?: boolean | null;
  agent_custom_instructions?: string | null;
}

export interface Mem0Rating {
  memory_id: string;
  feedback?: "POSITIVE" | "NEGATIVE" | "VERY_NEGATIVE" | null;
  feedback_reason?: string | null;
}

export interface Mem0Search {
  filters?: Record<string, JsonValue> | null;
  user_id?: string | null;
  agent_id?: string | null;
  app_id?: string | null;
  run_id?: string | null;
  categories?: string[] | null;
  metadata?: Record<string, JsonValue> | null;
  keywords?: string | null;
  start_date?: string | null;
  end_date?: string | null;
  show_expired?: boolean | null;
  fields?: string[] | null;
  output_format?: string | null;
  query: string;
  top_k?: number;
  /** another word for top_k in older clients */
  limit?: number | null;
  threshold?: number | null;
}

/** Which memories: by a tree of filters, or in older clients by names at the top. */
export interface Mem0Selection {
  filters?: Record<string, JsonValue> | null;
  user_id?: string | null;
  agent_id?: string | null;
  app_id?: string | null;
  run_id?: string | null;
  categories?: string[] | null;
  metadata?: Record<string, JsonValue> | null;
  keywords?: string | null;
  start_date?: string | null;
  end_date?: string | null;
  show_expired?: boolean | null;
  fields?: string[] | null;
  output_format?: string | null;
}

export interface Mem0Webhook {
  url: string;
  name?: string;
  event_types: string[];
}

export interface Mem0WebhookChange {
  url?: string | null;
  name?: string | null;
  event_types?: string[] | null;
}

/** The conversations (sessions and direct ones) and rooms that are in a project now. */
export interface Members {
  conversations: string[];
  rooms: string[];
}

/** `times` counts how often it was said; without `valid_to` it is true now. One of a project has no conversation and no user, and an agent only if one told it. */
export interface Memory {
  id: string;
  conversation: string | null;
  run_id: string;
  visibility: "public" | "private" | "shared";
  user: string | null;
  agent: string | null;
  type: "correction" | "preference" | "decision" | "fact" | "task" | "action";
  content: string;
  importance: number;
  confidence: number;
  times: number;
  version: number;
  valid_from: string;
  said_at: string;
  valid_to: string | null;
  superseded_by: string | null;
  model: string;
  created_at: string;
  updated_at: string;
  sources: string[];
  metadata: Record<string, unknown>;
  categories: string[];
  expires_at: string | null;
  feedback: "positive" | "negative" | "very_negative" | null;
  feedback_reason: string | null;
  state: "valid" | "superseded" | "expired" | "deleted";
  /** whose word it is; an agent's has no user */
  said_by: "user" | "agent";
}

export interface MemoryFilter {
  /** only of this place, or of these */
  run_id?: string | string[] | null;
  type?: ("correction" | "preference" | "decision" | "fact" | "task" | "action")[] | null;
}

/** The newest is first. */
export interface MemoryHistory {
  versions: MemoryVersion[];
  next: string | null;
}

export interface MemoryHit {
  score: number;
  memory: Memory;
}

export interface MemoryHits {
  results: MemoryHit[];
}

export interface MemoryPage {
  memories: Memory[];
  next: string | null;
}

/** A command as Claude writes it. */
export type MemoryToolCommand = View | Create | StrReplace | Insert | Delete | Rename;

export interface MemoryVersion {
  version: number;
  event: "added" | "merged" | "superseded" | "changed" | "deleted" | "restored" | "expired" | "rated";
  type: "correction" | "preference" | "decision" | "fact" | "task" | "action";
  content: string;
  importance: number;
  confidence: number;
  superseded_by: string | null;
  by: string | null;
  written_at: string;
  metadata: Record<string, unknown>;
  categories: string[];
  expires_at: string | null;
  feedback: "positive" | "negative" | "very_negative" | null;
  feedback_reason: string | null;
}

export interface Message {
  id: string;
  conversation: string;
  seq: number;
  role: "user" | "assistant" | "system" | "tool";
  user: string | null;
  agent: string | null;
  content: string;
  tool_name: string | null;
  tool_args: unknown;
  tool_result: string | null;
  attachments: unknown[];
  metadata: Record<string, unknown>;
  event_id: string | null;
  created_at: string;
  /** set if it was taken back; such a message is shown to the owner alone */
  retracted?: Retraction | null;
}

/** Cursors are null where there is nothing more in that direction now. */
export interface MessagePage {
  messages: Message[];
  next: string | null;
  previous: string | null;
}

export interface Namespaces {
  namespaces: string[][];
}

/** Which namespaces; `*` stands for any one label. */
export interface NamespacesBody {
  limit?: number;
  offset?: number;
  prefix?: string[] | null;
  suffix?: string[] | null;
  /** cut them to so many labels */
  max_depth?: number | null;
}

export interface NamespacesOperation {
  limit?: number;
  offset?: number;
  op: "namespaces";
  conditions?: LabelsOperation[];
  max_depth?: number | null;
}

/** A key that was just made. */
export interface NewApiKey {
  id: string;
  role: "admin" | "agent" | "reader";
  agent: string | null;
  user: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** the whole key, shown this once: send it as Authorization: Bearer */
  secret: string;
}

export interface NewImport {
  /** of which program: `claude-code`, `chatgpt`, `claude`, `codex`, `slack` and so on */
  kind: string;
  /** the file's name, such as `export.zip`; a folder is sent as a zip of its files */
  file: string;
  /** whose history it is */
  user: string;
  /** who answered; default: the kind */
  agent?: string | null;
  /** put all sessions into this project */
  project?: string | null;
  /** users by the ids, handles or names that the source has */
  map?: Record<string, string> | null;
  /** what 3/4 means, where the file does not tell */
  day_first?: boolean | null;
  /** also what was marked as not to be remembered */
  also_forgotten?: boolean;
  /** most people that may become users */
  max_people?: number | null;
}

/** One message of a conversation. It needs a content, a tool call, a tool's result or an attachment. Messages of the OpenAI and Anthropic APIs are taken as they are. One that calls several tools, or brings several results, is stored as several messages. */
export interface NewMessage {
  /** developer is another word for system */
  role: "user" | "assistant" | "system" | "tool";
  /** a text, or content parts: texts are kept, of others their type, size and address */
  content?: string | {
    type: string;
  }[] | null;
  /** who spoke, for role user; default: the conversation's user */
  user?: string | null;
  /** default: the conversation's agent */
  agent?: string | null;
  tool_name?: string | null;
  tool_args?: JsonValue;
  /** any JSON; what is no text is kept as JSON text */
  tool_result?: unknown;
  /** of role assistant, as OpenAI writes them */
  tool_calls?: JsonValue[] | null;
  /** tells which call a result belongs to */
  tool_call_id?: string | null;
  attachments?: JsonValue[];
  metadata?: Record<string, JsonValue>;
  /** makes a retry store nothing twice */
  event_id?: string | null;
  /** when it was said, a day ahead at most; default: now */
  created_at?: string | null;
  /** of OpenAI's answers: kept as the content where that is empty */
  refusal?: string | null;
  /** of OpenAI's answers: kept in metadata */
  annotations?: JsonValue[] | null;
  /** of OpenAI's answers, where there is none */
  audio?: null;
  /** of OpenAI's answers, where there is none; send tool_calls */
  function_call?: null;
}

export interface NewProfileDocument {
  data: {
    type: "memory";
    attributes: {
      type?: "user" | "workspace";
      memory: string;
    };
    relationships?: {
      workspace?: {
        data: {
          type: "workspace";
          id: string;
        };
      };
      membership?: {
        data: {
          type: "membership";
          id: string;
        } | null;
      };
    };
  };
}

export interface Ok {
  ok: boolean;
}

export interface OpenAIToolCall {
  id: string;
  type: "function";
  function: CalledFunction;
}

export interface Participants {
  users: string[];
  agents: string[];
}

export interface PatchConversation {
  title?: string | null;
  settings?: Record<string, JsonValue>;
  active?: boolean;
  /** what a session outside projects reads: `own`, itself; `user`, all sessions of its user with its agent outside isolated projects; null, what the tenant chose */
  reach?: "own" | "user" | null;
}

/** Pin a part of a message word for word, or without `text` all of it. */
export interface PinLandmark {
  conversation: string;
  /** the message's id */
  message?: string | null;
  /** instead of its id: the message's number */
  seq?: number | null;
  kind?: "decision" | "spec" | "code" | "action" | "question" | "link" | "pin";
  /** a part of the message's content */
  text?: string | null;
}

/** What went wrong, with which value, and what to do. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** the offending value's path */
  field?: string | null;
  /** also in the header X-Request-Id and in the log */
  request_id?: string | null;
}

export interface Profile {
  type: "memory";
  id: string;
  attributes?: {
    type?: "user" | "workspace";
    memory?: string;
    created_at?: string;
    updated_at?: string;
  };
  relationships?: {
    workspace?: {
      data: {
        type: "workspace";
        id: string;
      };
    };
    membership?: {
      data: {
        type: "membership";
        id: string;
      } | null;
    };
  };
  links: {
    self: string;
  };
}

export interface ProfileDocument {
  jsonapi: {
    version: string;
  };
  data: Profile;
  links: Record<string, string | null>;
}

export interface ProfilePage {
  jsonapi: {
    version: string;
  };
  data: Profile[];
  links: Record<string, string | null>;
  meta: {
    total: number;
  };
}

export interface Project {
  id: string;
  name: string | null;
  isolated: boolean;
  created_at: string;
}

export interface ProjectPage {
  projects: Project[];
  next: string | null;
}

/** What a put of a project did: `opened` are the members that an isolated project no longer shields. */
export interface ProjectPut {
  project: Project;
  made: boolean;
  opened: Members;
}

export interface PutAgent {
  name?: string | null;
  /** in tokens; default 128,000 */
  context_window?: number | null;
}

/** What to make or update. The place (kind, room, user, agent, project) is fixed once it is made. */
export interface PutConversation {
  /** default: room if a room is named, else session */
  kind?: "room" | "direct" | "session" | null;
  user?: string | null;
  /** default: the key's agent, else 'default' */
  agent?: string | null;
  room?: string | null;
  project?: string | null;
  channel?: string;
  channel_id?: string | null;
  bot_identity?: string | null;
  title?: string | null;
  settings?: Record<string, JsonValue>;
  active?: boolean;
  /** what a session outside projects reads: `own`, itself; `user`, all sessions of its user with its agent outside isolated projects; null, what the tenant chose */
  reach?: "own" | "user" | null;
}

/** A value to write. */
export interface PutFact {
  /** any JSON, up to 64 KiB; it comes out as it is written here */
  value: JsonValue;
  /** declare the type that this fact has from now on; null takes it away; default: as it is */
  type?: "string" | "number" | "integer" | "boolean" | "object" | "array" | null;
  /** write only if the fact is at this version; 0: only if there is none */
  version?: number | null;
  /** the message that it comes from */
  source?: string | null;
  confidence?: number | null;
}

/** Fields to merge into the working memory. */
export interface PutFields {
  data: Record<string, JsonValue>;
  /** the memory's lifetime from now on; default: as it is */
  ttl_seconds?: number | null;
}

export interface PutFile {
  content: string;
}

/** A value to store, in place of the former one. */
export interface PutItemBody {
  /** the labels of a namespace; none has a dot */
  namespace: string[];
  key: string;
  /** up to 1 MiB of JSON */
  value: Record<string, JsonValue>;
  /** the paths that are searched, false for none; default: the whole value */
  index?: string[] | false | null;
  /** minutes from the last write or read; default: for good */
  ttl?: number | null;
}

/** A user or a room; without a name an existing one keeps its own. */
export interface PutNamed {
  name?: string | null;
}

/** Without a value the item is deleted. */
export interface PutOperation {
  /** the labels of a namespace; none has a dot */
  namespace: string[];
  key: string;
  op: "put";
  value?: Record<string, JsonValue> | null;
  index?: string[] | false | null;
  ttl?: number | null;
}

export interface PutProject {
  name?: string | null;
  /** nothing from outside comes in, nothing from inside goes out */
  isolated?: boolean | null;
}

export interface PutRetention {
  /** null: as long as the room or the tenant says */
  days: number | null;
}

export interface PutTreeFile {
  content: string;
  /** write only over this sha256; "": only if there is no such file */
  sha256?: string | null;
}

/** Which memories to list: those that pass the filters, in the order in which they became valid. */
export interface QueryMemories {
  /** a tree: fields, which all have to match, and AND, OR, NOT over further trees. Fields: user, agent, place, conversation, id, category, content, mem0_agent, mem0_app, mem0_run, type, state, feedback, said_by, importance, confidence, said_at, created_at, updated_at, expires_at, metadata. A value is compared for equality, an object by its operators: eq, ne, in, exists, contains, gt, gte, lt, lte. Without state, only what is valid; {} is all of that */
  filters: Record<string, JsonValue>;
  /** in whose place to read; an unbound admin may leave it out */
  conversation?: string | null;
  limit?: number;
  /** a page's next */
  cursor?: string | null;
}

export interface RateMemory {
  /** null takes it back */
  feedback: "positive" | "negative" | "very_negative" | null;
  reason?: string | null;
}

export interface Readiness {
  status: string;
  /** of several database servers those that do not answer; their tenants get 503 */
  servers_down?: string[] | null;
}

/** `total` is the sum of the signals' shares, from which the score is made. */
export interface Reason {
  total: number;
  arms: string[];
  signals: Record<string, Signal>;
  terms: Record<string, Term>;
}

/** What an append answers for one message. */
export interface Receipt {
  id: string;
  /** counts from 1 inside the conversation */
  seq: number;
  created_at: string;
  /** true if this event was stored before */
  duplicate: boolean;
}

/** The messages stored, in the order given. */
export interface Receipts {
  messages: Receipt[];
}

export interface RedactFile {
  version: number;
}

/** A memory that the model wrote and the faithfulness check threw out. */
export interface RefusedMemory {
  type: "correction" | "preference" | "decision" | "fact" | "task" | "action";
  text: string;
  sources: number[];
  /** what no source names; empty if most words are not in the sources */
  offending: string[];
}

/** A sentence from which the rules take nothing, whatever it says. */
export interface RefusedSentence {
  message: number;
  text: string;
  reason: "secret" | "question" | "guess" | "reported" | "points elsewhere" | "too long";
}

export interface Rename {
  command: "rename";
  old_path: string;
  new_path: string;
}

/** How long a room or a conversation keeps its messages. */
export interface Retention {
  /** what was set here; null: as in the room or the tenant */
  retention_days: number | null;
  /** what holds: messages are erased after so many days; null: never */
  days: number | null;
}

export interface Retract {
  /** why; the tenant's owner reads it */
  reason?: string | null;
}

/** A message that is retracted, and since when. */
export interface RetractedMessage {
  conversation: string;
  id: string;
  seq: number;
  retracted_at: string;
}

/** Who took a message back, when and why. Of one that was erased, nothing can be given back. */
export interface Retraction {
  by: string | null;
  at: string;
  reason?: string | null;
  erased_at?: string | null;
}

export interface RetriedJobs {
  /** how many run again, or would after a dry run */
  retried: number;
  dry_run: boolean;
}

/** Which failed work to do again; without any of them, all of the tenant's. */
export interface RetryJobs {
  /** `embed`: entries that could not be embedded */
  task?: "compact" | "describe" | "extract" | "landmark" | "recompact" | "embed" | null;
  /** only what failed with an error that contains this */
  error?: string | null;
  /** only this one */
  job?: number | null;
  /** only count */
  dry_run?: boolean;
}

export interface Room {
  id: string;
  name: string | null;
  project: string | null;
  created_at: string;
}

export interface RoomPage {
  rooms: Room[];
  next: string | null;
}

/** What to look for, and in whose place. */
export interface SearchBody {
  query: string;
  /** in whose place to search; an unbound admin may leave it out, for the whole tenant */
  conversation?: string | null;
  /** for this call, in place of what was chosen for the session: `own`, `user` or, in a project, `project`; one that the place can't have has no effect */
  reach?: "own" | "user" | "project" | null;
  /** fts is another word for words */
  mode?: "hybrid" | "words" | "fts" | "meaning" | "trigram" | "regex";
  /** how signals are weighed: best, fast, seed */
  recipe?: string;
  kinds?: ("message" | "summary" | "memory" | "landmark")[] | null;
  /** only what this agent said or was told */
  agent?: string | null;
  /** only what this user said */
  user?: string | null;
  /** from this time on; a day such as 2024-01-31: from its start on */
  since?: string | null;
  /** up to this time, not including it; a day: up to its start */
  before?: string | null;
  /** a named time: today, yesterday, this_morning, this_week, last_24h, last_7d, last_14d */
  window?: string | null;
  /** read "yesterday", "in May" or "when did we last" in the query, unless a time is given */
  time_words?: boolean;
  limit?: number;
  /** leave out what has a lower score */
  min_score?: number | null;
  /** how many turns before and after each hit to return with it */
  context?: number;
  /** follow the best summaries down to what they were made from */
  expand?: boolean;
  /** say why each hit is there */
  explain?: boolean;
  /** also answer in a few cited sentences; needs a language model */
  synthesize?: boolean;
}

/** What to look for in an agent's past conversations, as AEGIS' clients ask. */
export interface SearchEpisodes {
  agent_id: string;
  query: string;
  /** in this user's conversations; without it, an admin's key is needed */
  user_id?: string | null;
  top_k?: number;
}

export interface SearchFiles {
  query: string;
  limit?: number;
}

/** What to look for. */
export interface SearchItemsBody {
  limit?: number;
  offset?: number;
  /** the labels of a namespace; none has a dot */
  namespace_prefix?: string[];
  /** members that are equal, or compare by $eq, $ne, $gt, $gte, $lt, $lte */
  filter?: Record<string, JsonValue> | null;
  /** ranks all that pass the filter; default: the last changed first */
  query?: string | null;
  refresh_ttl?: boolean | null;
}

/** What to look for. Without a conversation: what this agent knows of this user, across their conversations. */
export interface SearchMemories {
  query: string;
  user_id?: string | null;
  agent_id?: string | null;
  filter?: MemoryFilter;
  /** in whose place to search */
  conversation?: string | null;
  /** what was valid then, by its words alone */
  as_of?: string | null;
  limit?: number;
}

export interface SearchOperation {
  limit?: number;
  offset?: number;
  /** the labels of a namespace; none has a dot */
  namespace_prefix?: string[];
  /** members that are equal, or compare by $eq, $ne, $gt, $gte, $lt, $lte */
  filter?: Record<string, JsonValue> | null;
  /** ranks all that pass the filter; default: the last changed first */
  query?: string | null;
  refresh_ttl?: boolean | null;
  op: "search";
}

/** The best first. Nothing found is an answer; `hint` then says what to try. */
export interface SearchResults {
  results: Hit[];
  searched: Record<string, unknown>;
  /** what could not be used for this answer, and why */
  degraded: string[];
  hint: string | null;
  /** with synthesize; null if there is none, then degraded says why */
  answer: Synthesis | null;
}

/** `tokens` are those of its heading and its lines. */
export interface Section {
  name: "workspace" | "session" | "facts" | "profile" | "recall" | "landmarks" | "summary" | "transcript" | "invocation";
  heading: string;
  tokens: number;
  lines: Line[];
}

/** `lines` is how many there were. */
export interface SectionSize {
  name: "workspace" | "session" | "facts" | "profile" | "recall" | "landmarks" | "summary" | "transcript" | "invocation";
  tokens: number;
  lines: number;
}

export interface Sentence {
  text: string;
  cites: Cite[];
}

/** `findings` are those of `keepword doctor` that ask no model. */
export interface ServiceReport {
  version: string;
  findings: Finding[];
  settings: ServiceSetting[];
}

export interface ServiceSetting {
  name: string;
  variable: string;
  /** as text; secrets are hidden */
  value: string;
  /** the variable or file that it came from, or `default` */
  origin: string;
}

export interface SettingsChange {
  profile_per_agent?: boolean | null;
  profiles_in_rooms?: "room" | "all" | null;
  session_reach?: "own" | "user" | null;
  direct_reads_rooms?: boolean | null;
  agents_word?: boolean | null;
  audit_reads?: boolean | null;
  retention_days?: number | null;
  time_zone?: string | null;
  /** can only be lowered here, as the other quotas */
  quota_messages?: number | null;
  quota_mb?: number | null;
  quota_background_seconds?: number | null;
}

export interface ShownSettings {
  /** an agent is shown only what was said to it of a profile */
  profile_per_agent: boolean;
  /** `room`: rooms read of a profile what was said in them; `all`: also what was said in sessions and other rooms */
  profiles_in_rooms: "room" | "all";
  /** what a session outside projects reads that chose nothing itself: `own`, itself; `user`, all sessions of its user with its agent outside isolated projects */
  session_reach: "own" | "user";
  /** a direct conversation reads the rooms in which both its user and its agent sit */
  direct_reads_rooms: boolean;
  /** what agents say is remembered too, marked as their word */
  agents_word: boolean;
  /** the audit also names each read: who, which route, where */
  audit_reads: boolean;
  /** messages are erased after so many days; null: never */
  retention_days: number | null;
  /** what "yesterday" and times without a zone mean, such as Europe/Berlin; null: the service's */
  time_zone: string | null;
  /** most messages on a day (UTC); null: the service's own quota */
  quota_messages: number | null;
  /** most megabytes of messages on a day */
  quota_mb: number | null;
  /** longest time of background work on a day */
  quota_background_seconds: number | null;
}

/** One part of a score; `value` is raw. */
export interface Signal {
  value: number;
  weight: number;
  /** what it added to the score */
  share: number;
  /** the place by this signal alone */
  rank: number;
}

/** One thing by its id, whole: a message, summary, memory or landmark. */
export interface Source {
  kind: "message" | "summary" | "memory" | "landmark";
  id: string;
  text: string;
  run_id: string;
  conversation: string | null;
  /** of a message, and of what a landmark is a part of */
  seq: number | null;
  role: "user" | "assistant" | "system" | "tool" | null;
  user: string | null;
  agent: string | null;
  /** when it was said; of a summary, its first message */
  created_at: string;
  /** when its text was written last */
  changed_at: string;
}

/** Those that may be read, in the order in which they were asked for; others are missing. */
export interface Sources {
  sources: Source[];
}

export interface StartImport {
  /** only read and count; the upload is kept, and can be started again */
  dry_run?: boolean;
}

/** Alerts first: what needs somebody. Queues, compaction and coverage are the tenant's, for its owner alone. */
export interface Stats {
  alerts: string[];
  /** what waits for each vector space, and each task of the background */
  queues: Record<string, unknown>;
  /** unsummarised messages, summaries by tier, the trees' depth */
  compaction: Record<string, unknown>;
  coverage: Record<string, unknown>;
  census: Record<string, unknown>;
}

/** A conversation summary, as AEGIS' clients send it. */
export interface StoreSummary {
  agent_id: string;
  conversation_id: string;
  summary: string;
  user_id?: string | null;
  key_decisions?: unknown[] | Record<string, unknown> | null;
  entities_mentioned?: unknown[] | Record<string, unknown> | null;
  tools_called?: unknown[] | Record<string, unknown> | null;
}

export interface StoredFile {
  path: string;
  version: number;
  /** bytes */
  size: number;
  sha256: string;
  author: string;
  written_at: string;
  content?: string;
}

/** `version` counts the puts of the value. `expires_at` is null where the item has no lifetime. */
export interface StoredItem {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  version?: number;
  expires_at?: string | null;
}

export interface StrReplace {
  command: "str_replace";
  path: string;
  /** must occur exactly once */
  old_str: string;
  new_str?: string;
}

/** `share` is how much of what it names is in its sources; `reason` says why a model's summary was not taken. */
export interface Summary {
  id: string;
  conversation: string;
  tier: string;
  kind: string;
  depth: number;
  parent: string | null;
  content: string;
  message_count: number;
  earliest_at: string;
  latest_at: string;
  first_seq: number | null;
  last_seq: number | null;
  key_decisions: unknown[] | Record<string, unknown> | null;
  entities_mentioned: unknown[] | Record<string, unknown> | null;
  tools_called: unknown[] | Record<string, unknown> | null;
  agent: string;
  user: string | null;
  model: string;
  share: number;
  reason: string | null;
  pipeline_version: number;
  created_at: string;
}

export interface SummaryNode {
  summary: Summary;
  children: SummaryNode[];
}

/** What no parent has taken yet stands beside the others, in order. */
export interface SummaryTree {
  summaries: SummaryNode[];
}

/** A summary with what it was made from: the summaries below it, or for a leaf its messages. */
export interface SummaryWithSources {
  summary: Summary;
  children: Summary[];
  messages: Message[];
  /** where the messages go on, if they did not fit */
  next: string | null;
}

/** An answer whose every sentence rests on findings, by their numbers in `text`. */
export interface Synthesis {
  text: string;
  sentences: Sentence[];
  model: string;
  /** findings of which the model read only the beginning */
  shortened: Cite[];
  /** findings that the model's window had no room for */
  left_out: number;
}

/** How far the entry has one word of the query, and by what: itself, a similar word, the turns beside it. */
export interface Term {
  weight: number;
  match: number;
  by: "own" | "similar" | "beside" | null;
}

/** A file without its content. `author` is such as "agent:ada", "user:ann" or "owner". */
export interface TreeFile {
  path: string;
  version: number;
  /** bytes */
  size: number;
  sha256: string;
  author: string;
  written_at: string;
}

export interface TriedLandmark {
  message: number;
  kind: "decision" | "spec" | "code" | "action" | "question" | "link" | "pin";
  text: string;
}

/** A memory that would be made, from the messages in `sources`. */
export interface TriedMemory {
  number: number;
  type: "correction" | "preference" | "decision" | "fact" | "task" | "action";
  text: string;
  importance: number;
  confidence: number;
  user: string | null;
  agent: string | null;
  said_by: "user" | "agent";
  /** `rules`, or the model's name */
  found_by: string;
  sources: number[];
  /** merged: another one says the same; superseded: one ends it */
  outcome: "kept" | "merged" | "superseded";
  /** the memory that it merges into, or that supersedes it */
  other: number | null;
}

/** A message of the talk as it was read; `secrets` of it are hidden, here and from extraction. */
export interface TriedMessage {
  number: number;
  role: "user" | "assistant" | "system" | "tool";
  user: string | null;
  agent: string | null;
  text: string;
  secrets: number;
}

/** A talk to try extraction on: lines such as `Ann: I moved to Oslo.`, or the words of one person. */
export interface TryExtraction {
  /** up to 65,536 characters and 500 messages */
  text: string;
  /** who said what stands before the first name */
  user?: string;
  /** who speaks under this name, and under words such as `Assistant` */
  agent?: string;
  /** when it was said; default: now */
  at?: string | null;
  /** also ask the configured language model */
  model?: boolean;
  /** also what agents say; default: as the tenant's setting says */
  agents_word?: boolean | null;
}

/** A composed turn without its lines. `asked` is the message that was asked, where it was stored before. */
export interface Turn {
  id: string;
  conversation: string;
  agent: string;
  user: string | null;
  asked: string | null;
  template: string;
  recipe: string;
  reach: "own" | "user" | "project" | null;
  window_tokens: number;
  tokens: number;
  injected_tokens: number;
  proposed_tokens: number;
  compacted: number;
  sections: SectionSize[];
  created_at: string;
}

/** `previous` is the turn before it in the same conversation. */
export interface TurnDetail {
  turn: Turn;
  /** the message that was asked, if it may be read */
  question: Source | null;
  /** `next`: it was stored after the turn, as the next message of a user in the conversation */
  question_from: "asked" | "next" | null;
  previous: string | null;
  sections: TurnSection[];
  left_out: LeftOut[];
  degraded: string[];
}

/** A line of a turn, with its text as it reads now; of one that may not be read now, only its kind and size. */
export interface TurnLine {
  kind: "file" | "place" | "field" | "fact" | "profile" | "message" | "summary" | "memory" | "landmark" | "more" | "invocation";
  tokens: number;
  readable: boolean;
  id?: string | null;
  score?: number | null;
  reason?: string | null;
  /** null also for what described the place of the turn */
  text?: string | null;
  conversation?: string | null;
  seq?: number | null;
  who?: string | null;
  said_at?: string | null;
  /** whether its text was written again after the turn */
  changed?: boolean;
}

/** The newest is first. */
export interface TurnPage {
  turns: Turn[];
  next: string | null;
}

export interface TurnSection {
  name: "workspace" | "session" | "facts" | "profile" | "recall" | "landmarks" | "summary" | "transcript" | "invocation";
  tokens: number;
  lines: TurnLine[];
}

export interface User {
  id: string;
  name: string | null;
  created_at: string;
}

export interface UserPage {
  users: User[];
  next: string | null;
}

export interface ValidationError {
  loc: (string | number)[];
  msg: string;
  type: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/** Whether a message is seen in the place, and why. */
export interface Verdict {
  message: string;
  sees: boolean;
  because: string;
}

export interface View {
  command: "view";
  /** a file or a folder */
  path: string;
  /** the first and the last line to show; -1: to the end */
  view_range?: number[] | null;
}

export interface Webhook {
  id: string;
  name: string;
  url: string;
  /** such as `memory.added`, `memory` for all of memories, `*` for all */
  events: string[];
  is_active: boolean;
  /** why the service stopped it; null while it is active, or where somebody did */
  stopped_because: string | null;
  created_at: string;
  updated_at: string;
}

export interface WebhookDelivery {
  id: string;
  event: string;
  /** the run_id in which it happened */
  place: string | null;
  /** what changed: ids and numbers, no words */
  ids: Record<string, unknown>;
  at: string;
  attempts: number;
  /** of the next attempt; null: it arrived, or was given up */
  due_at: string | null;
  delivered_at: string | null;
  /** what the receiver answered last */
  status: number | null;
  error: string | null;
}

/** The newest is first. */
export interface WebhookDeliveryPage {
  deliveries: WebhookDelivery[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

export interface WebhookPage {
  webhooks: Webhook[];
  /** where to go on, as cursor; null at the end */
  next: string | null;
}

export interface WebhookTest {
  /** the delivery that was noted; the list of deliveries tells its fate */
  delivery: string;
}

/** `agent` and `user` are whom this request acts for. */
export interface WhoAmI {
  tenant: string;
  role: "admin" | "agent" | "reader";
  /** the id of the key, which is no secret; null without one */
  key: string | null;
  agent: string | null;
  user: string | null;
  /** whether this request may read and manage the whole tenant */
  owner: boolean;
}

/** What the memory holds now. */
export interface WorkingMemorySize {
  bytes: number;
  fields: number;
}
