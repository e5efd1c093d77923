// The answers of the API that the console reads.

export interface Conversation {
  id: string;
  external_id: string;
  kind: "room" | "direct" | "session";
  run_id: string;
  visibility: string;
  user: string | null;
  agent: string;
  room: string | null;
  project: string | null;
  title: string | null;
  active: boolean;
  message_count: number;
  created_at: string;
  updated_at: string;
}

export interface Message {
  id: string;
  conversation: string;
  seq: number;
  role: string;
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
  retracted: { by: string | null; at: string; reason: string | null; erased_at: string | null } | null;
}

export interface Memory {
  id: string;
  conversation: string | null;
  run_id: string;
  visibility: string;
  user: string | null;
  agent: string | null;
  type: string;
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
  feedback: string | null;
  feedback_reason: string | null;
  state: string;
}

export interface MemoryVersion {
  version: number;
  event: string;
  type: string;
  content: string;
  importance: number;
  confidence: number;
  superseded_by: string | null;
  by: string | null;
  written_at: string;
}

export interface Source {
  kind: string;
  id: string;
  text: string;
  run_id: string;
  conversation: string | null;
  seq: number | null;
  role: string | null;
  user: string | null;
  agent: string | null;
  created_at: string;
  changed_at: string;
}

export interface Signal {
  value: number;
  weight: number;
  share: number;
  rank: number;
}

export interface Hit {
  kind: string;
  id: string;
  part: number;
  score: number;
  text: string;
  role: string | null;
  user: string | null;
  agent: string | null;
  created_at: string;
  run_id: string;
  conversation: string | null;
  seq: number | null;
  why: { arms: string[]; signals: Record<string, Signal>; terms: Record<string, { weight: number; match: number; by: string | null }> } | null;
}

export interface SearchResults {
  results: Hit[];
  searched: Record<string, unknown>;
  degraded: string[];
  hint: string | null;
}

export interface Summary {
  id: string;
  conversation: string;
  tier: string;
  content: string;
  message_count: number;
  earliest_at: string;
  latest_at: string;
  first_seq: number | null;
  last_seq: number | null;
  key_decisions: unknown;
  entities_mentioned: unknown;
  tools_called: unknown;
  model: string;
  share: number;
  reason: string | null;
  created_at: string;
}

export interface SummaryNode {
  summary: Summary;
  children: SummaryNode[];
}

export interface Landmark {
  id: string;
  conversation: string;
  message: string;
  kind: string;
  text: string;
  pinned_by: string | null;
  said_at: string;
}

export interface Fact {
  scope_kind: string;
  scope_id: string | null;
  key: string;
  value: unknown;
  type: string | null;
  version: number;
  source: string | null;
  confidence: number | null;
  updated_at: string;
}

export interface Stats {
  alerts: string[];
  queues: Record<string, unknown>;
  compaction: Record<string, unknown>;
  coverage: Record<string, { entries: number; embedded: number; share: number }>;
  census: Record<string, unknown>;
}
