// All requests of the console: the public API, with the key of whoever reads the page.

export interface WhoAmI {
  tenant: string;
  role: "reader" | "agent" | "admin";
  key: string | null;
  agent: string | null;
  user: string | null;
  owner: boolean;
}

// For whom a request acts beside its key.
export interface Viewer {
  user?: string | undefined;
  agent?: string | undefined;
}

export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly field: string | null = null,
  ) {
    super(detail);
  }
}

const KEY = "keepword-key";
let refused: (problem: Problem) => void = () => undefined;

// Session storage ends with the tab; the key is nowhere else.
export const key = {
  get: (): string | null => sessionStorage.getItem(KEY),
  set: (value: string): void => sessionStorage.setItem(KEY, value),
  forget: (): void => sessionStorage.removeItem(KEY),
};

// The page asks for a key when a request is refused for want of one.
export function whenRefused(listener: (problem: Problem) => void): void {
  refused = listener;
}

type Value = string | number | boolean | null | undefined;
export type Query = Record<string, Value | readonly string[]>;

export function path(...parts: string[]): string {
  return "/" + parts.map(encodeURIComponent).join("/");
}

export function withQuery(address: string, query: Query = {}): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") sent.append(name, String(one));
    }
  }
  const text = sent.toString();
  return text ? `${address}?${text}` : address;
}

export function headers(viewer: Viewer = {}): Record<string, string> {
  const sent: Record<string, string> = {};
  const own = key.get();
  if (own) sent["Authorization"] = `Bearer ${own}`;
  if (viewer.agent) sent["Keepword-Agent"] = encodeURIComponent(viewer.agent);
  if (viewer.user) sent["Keepword-User"] = encodeURIComponent(viewer.user);
  return sent;
}

interface Options {
  query?: Query;
  body?: unknown;
  raw?: Blob;
  viewer?: Viewer;
  signal?: AbortSignal;
  more?: Record<string, string>;
}

export async function call<T>(method: string, address: string, options: Options = {}): Promise<T> {
  const answer = await send(method, address, options);
  const text = await answer.text();
  return (text ? JSON.parse(text) : null) as T;
}

export async function send(method: string, address: string, options: Options = {}): Promise<Response> {
  const sent = { ...headers(options.viewer), ...options.more };
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  if (body !== undefined) sent["Content-Type"] ??= options.raw ? "application/octet-stream" : "application/json";
  let answer: Response;
  try {
    answer = await fetch(withQuery(address, options.query), {
      method,
      headers: sent,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      ...(body === undefined ? {} : { body }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "the service does not answer; is it running?");
  }
  if (answer.ok) return answer;
  const problem = await read(answer);
  // a request with a key of its own says nothing about the page's
  if (answer.status === 401 && options.more?.["Authorization"] === undefined) refused(problem);
  throw problem;
}

async function read(answer: Response): Promise<Problem> {
  try {
    const said = (await answer.json()) as { detail?: string; field?: string; errors?: { detail?: string }[] };
    const detail = said.detail ?? said.errors?.map((one) => one.detail).join("; ");
    return new Problem(answer.status, detail ?? answer.statusText, said.field ?? null);
  } catch {
    return new Problem(answer.status, `${answer.status} ${answer.statusText}`);
  }
}

export const get = <T>(address: string, query?: Query, viewer?: Viewer, signal?: AbortSignal): Promise<T> =>
  call<T>("GET", address, { ...(query ? { query } : {}), ...(viewer ? { viewer } : {}), ...(signal ? { signal } : {}) });
export const post = <T>(address: string, body: unknown, viewer?: Viewer, signal?: AbortSignal): Promise<T> =>
  call<T>("POST", address, { body, ...(viewer ? { viewer } : {}), ...(signal ? { signal } : {}) });
