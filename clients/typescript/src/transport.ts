import { InvalidInput, Unavailable, errorOf } from "./errors.js";

export interface CallOptions {
  body?: unknown;
  query?: object;
  /** The version that the thing must be at, else `Outdated` is thrown. */
  version?: number | undefined;
}

/** Sends requests to one service and reads its answers. */
export class Transport {
  constructor(
    private readonly at: string,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly timeoutSeconds: number,
    private readonly send: typeof fetch,
  ) {}

  acting(agent?: string, user?: string): Transport {
    return new Transport(this.at, { ...this.headers, ...actingHeaders(agent, user) }, this.timeoutSeconds, this.send);
  }

  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const answer = await this.request(method, path, options);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  /** Return an answer as it came. */
  async text(method: string, path: string, options: CallOptions = {}): Promise<string> {
    return (await this.request(method, path, options)).text();
  }

  /** Send bytes as they are. */
  async upload(method: string, path: string, content: Blob): Promise<void> {
    await this.request(method, path, { content });
  }

  private async request(method: string, path: string, { body, content, query, version }: CallOptions & { content?: Blob }): Promise<Response> {
    const headers: Record<string, string> = { ...this.headers };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (content !== undefined) headers["Content-Type"] = "application/octet-stream";
    if (version !== undefined) headers["If-Match"] = `"${version}"`;
    const init: RequestInit = { method, headers, signal: AbortSignal.timeout(this.timeoutSeconds * 1000) };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (content !== undefined) init.body = content;
    let answer: Response;
    try {
      answer = await this.send(`${this.at}${path}${search(query)}`, init);
    } catch (cause) {
      throw unavailable(this.at, `${method} ${path}`, cause);
    }
    if (!answer.ok) throw await errorOf(answer, this.at);
    return answer;
  }
}

function unavailable(at: string, call: string, cause: unknown): Unavailable {
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    return new Unavailable(`${at} did not answer ${call} in time; try again later`);
  }
  return new Unavailable(`no service answers at ${at}; start one with \`keepword serve\`, or name the url of one that runs`);
}

/** Write what is given behind the question mark; a list becomes one name for each value. */
function search(query: object | undefined): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one));
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

export function actingHeaders(agent?: string, user?: string): Record<string, string> {
  return {
    ...(agent === undefined ? {} : { "Keepword-Agent": encodeURIComponent(agent) }),
    ...(user === undefined ? {} : { "Keepword-User": encodeURIComponent(user) }),
  };
}

/** Write a name as a part of a path; what would lead to another path is refused. */
export function segment(name: string, what: string): string {
  if (name === "" || name === "." || name === "..") throw new InvalidInput(`${what} is ${JSON.stringify(name)}, which is no name`, 0, null, what);
  return encodeURIComponent(name);
}
