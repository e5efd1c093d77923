import type { Paging } from "./places.js";
import { type Transport, segment } from "./transport.js";
import type * as t from "./types.js";

/** The tenant's API keys. Of the tenant's owner alone. */
export class Keys {
  constructor(private readonly wire: Transport) {}

  /** Make a key that works for a span such as "90d"; `secret` of the answer is shown this once. */
  make(role: t.MakeKey["role"], options: Omit<t.MakeKey, "role"> = {}): Promise<t.NewApiKey> {
    return this.wire.call("POST", "/v1/keys", { body: { role, ...options } });
  }
  /** List the keys, the newest first, also those that ended. */
  list(options: Paging = {}): Promise<t.ApiKeyPage> {
    return this.wire.call("GET", "/v1/keys", { query: options });
  }
  /** Stop a key from working, by its id; the last one that manages the tenant stays. */
  revoke(key: string): Promise<void> {
    return this.wire.call("DELETE", `/v1/keys/${segment(key, "key")}`);
  }
}

/** Background work that failed. */
export class Jobs {
  constructor(private readonly wire: Transport) {}

  /** List the jobs that were given up, the newest first. */
  failed(options: Paging = {}): Promise<t.FailedJobPage> {
    return this.wire.call("GET", "/v1/jobs/failed", { query: options });
  }
  /** Let failed work run again: of a task, with such an error, or one job; a dry run only counts it. */
  retry(options: Partial<t.RetryJobs> = {}): Promise<t.RetriedJobs> {
    return this.wire.call("POST", "/v1/jobs/retry", { body: options });
  }
}

export interface AuditOptions extends Paging {
  /** "memory" takes all that begin with "memory.". */
  action?: string;
  /** Such as "user:ann", "agent:ada" or "owner". */
  actor?: string;
  since?: string;
  before?: string;
}

export class Audit {
  constructor(private readonly wire: Transport) {}

  /** List who changed rights or removed something, the newest first. Of the tenant's owner alone. */
  list(options: AuditOptions = {}): Promise<t.AuditPage> {
    return this.wire.call("GET", "/v1/audit", { query: options });
  }
}

const PART_BYTES = 8 * 1024 * 1024;
const ENDED = new Set(["checked", "done", "failed", "cancelled"]);
const LOOK_MS = 1000;

export type ImportOptions = Omit<t.NewImport, "kind" | "file"> & { dry_run?: boolean };

/** Imports of histories of other programs. Of the tenant's owner alone. */
export class Imports {
  constructor(private readonly wire: Transport) {}

  /** Upload a history, in the form that its program exports, and start its import; `dry_run` only counts. */
  async create(kind: string, file: Blob, name: string, { dry_run = false, ...options }: ImportOptions): Promise<t.HistoryImport> {
    const made: t.HistoryImport = await this.wire.call("POST", "/v1/imports", { body: { kind, file: name, ...options } });
    for (let number = 1, at = 0; at < file.size; number += 1, at += PART_BYTES)
      await this.wire.upload("PUT", `${importPath(made.id)}/parts/${number}`, file.slice(at, at + PART_BYTES));
    return this.start(made.id, { dry_run });
  }
  /** Start one that was uploaded, or again after a dry run. */
  start(id: string, options: { dry_run?: boolean } = {}): Promise<t.HistoryImport> {
    return this.wire.call("POST", `${importPath(id)}/start`, { body: options });
  }
  get(id: string): Promise<t.HistoryImport> {
    return this.wire.call("GET", importPath(id));
  }
  /** List imports, the newest first. */
  list(options: Paging = {}): Promise<t.HistoryImportPage> {
    return this.wire.call("GET", "/v1/imports", { query: options });
  }
  /** Return the import as soon as it has ended; `state` says how. */
  async wait(id: string): Promise<t.HistoryImport> {
    for (;;) {
      const one = await this.get(id);
      if (ENDED.has(one.state)) return one;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
  /** End it, and remove its upload; what was stored stays. */
  cancel(id: string): Promise<t.HistoryImport> {
    return this.wire.call("POST", `${importPath(id)}/cancel`);
  }
  /** Forget one that has ended, with its report. */
  delete(id: string): Promise<void> {
    return this.wire.call("DELETE", importPath(id));
  }
}

/** Addresses that are told of changes. Of the tenant's owner alone. */
export class Webhooks {
  constructor(private readonly wire: Transport) {}

  list(options: Paging = {}): Promise<t.WebhookPage> {
    return this.wire.call("GET", "/v1/webhooks", { query: options });
  }
  /** Make a webhook; events are such as "memory.added", "memory" or "*". Its secret is not shown again. */
  add(url: string, events: string[], options: { name?: string } = {}): Promise<t.MadeWebhook> {
    return this.wire.call("POST", "/v1/webhooks", { body: { url, events, ...options } });
  }
  get(webhook: string): Promise<t.Webhook> {
    return this.wire.call("GET", webhookPath(webhook));
  }
  /** Change a webhook; `is_active` true starts one again that was stopped. */
  change(webhook: string, fields: t.ChangeWebhook): Promise<t.Webhook> {
    return this.wire.call("PATCH", webhookPath(webhook), { body: fields });
  }
  delete(webhook: string): Promise<void> {
    return this.wire.call("DELETE", webhookPath(webhook));
  }
  /** List deliveries of the last 7 days, the newest first. */
  deliveries(webhook: string, options: Paging = {}): Promise<t.WebhookDeliveryPage> {
    return this.wire.call("GET", `${webhookPath(webhook)}/deliveries`, { query: options });
  }
  /** Send the event webhook.test. */
  test(webhook: string): Promise<t.WebhookTest> {
    return this.wire.call("POST", `${webhookPath(webhook)}/test`);
  }
}

function importPath(id: string): string {
  return `/v1/imports/${segment(id, "import")}`;
}
function webhookPath(webhook: string): string {
  return `/v1/webhooks/${segment(webhook, "webhook")}`;
}
