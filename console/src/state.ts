// What views share: loading with cancelling, pages by cursor, who reads, and the message at the bottom with its undo.

import { createContext } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import { Problem, get, type WhoAmI } from "./api";
import type { Conversation } from "./types";

export const Me = createContext<WhoAmI>({ tenant: "", role: "reader", key: null, agent: null, user: null, owner: false });
export const useMe = (): WhoAmI => useContext(Me);
export const mayWrite = (me: WhoAmI): boolean => me.role !== "reader";

export interface Loaded<T> {
  data: T | null;
  error: string | null;
  loading: boolean;
  reload: () => void;
}

export const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// Loads again whenever one of `inputs` changes; an answer that comes late is dropped.
export function useLoad<T>(load: ((signal: AbortSignal) => Promise<T>) | null, inputs: readonly unknown[]): Loaded<T> {
  const [state, set] = useState<{ data: T | null; error: string | null; loading: boolean }>({
    data: null,
    error: null,
    loading: load !== null,
  });
  const [again, repeat] = useState(0);
  useEffect(() => {
    if (!load) {
      set({ data: null, error: null, loading: false });
      return undefined;
    }
    const stop = new AbortController();
    set((before) => ({ ...before, error: null, loading: true }));
    load(stop.signal)
      .then((data) => stop.signal.aborted || set({ data, error: null, loading: false }))
      .catch((error: unknown) => stop.signal.aborted || set({ data: null, error: said(error), loading: false }));
    return () => stop.abort();
  }, [...inputs, again, useSession()]);
  return { ...state, reload: useCallback(() => repeat((count) => count + 1), []) };
}

export interface Pages<T> {
  items: T[];
  error: string | null;
  loading: boolean;
  next: string | null;
  more: () => void;
  reload: () => void;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export function usePages<T>(
  load: ((cursor: string | null, signal: AbortSignal) => Promise<Page<T>>) | null,
  inputs: readonly unknown[],
): Pages<T> {
  const [further, set] = useState<{ of: unknown; items: T[]; next: string | null; error: string | null } | null>(null);
  const first = useLoad(load ? (signal) => load(null, signal) : null, inputs);
  const mine = further && further.of === first.data ? further : null;
  const next = mine ? mine.next : (first.data?.next ?? null);
  const busy = useRef(false);
  const more = useCallback(() => {
    if (!load || !next || busy.current) return;
    busy.current = true;
    const of = first.data;
    const before = mine?.items ?? [];
    load(next, new AbortController().signal)
      .then((page) => set({ of, items: [...before, ...page.items], next: page.next, error: null }))
      .catch((error: unknown) => set({ of, items: before, next, error: said(error) }))
      .finally(() => (busy.current = false));
  }, [next, first.data, mine]);
  return {
    items: [...(first.data?.items ?? []), ...(mine?.items ?? [])],
    error: first.error ?? mine?.error ?? null,
    loading: first.loading,
    next,
    more,
    reload: first.reload,
  };
}

// Counts sign-ins: what was refused for want of a key is asked again after one.
let session = 0;
const listeners = new Set<() => void>();
export function signedIn(): void {
  session += 1;
  for (const listener of listeners) listener();
}
function useSession(): number {
  const [count, set] = useState(session);
  useEffect(() => {
    const follow = () => set(session);
    listeners.add(follow);
    return () => void listeners.delete(follow);
  }, []);
  return count;
}

export interface Notice {
  text: string;
  isError?: boolean;
  undo?: () => Promise<unknown>;
}
let show: (notice: Notice | null) => void = () => undefined;
export function useNotice(): [Notice | null, (notice: Notice | null) => void] {
  const [notice, set] = useState<Notice | null>(null);
  show = set;
  return [notice, set];
}

// Does something and says so, with a way back; `after` runs after either.
export async function act(
  what: string,
  work: () => Promise<unknown>,
  after: () => void,
  undo?: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await work();
  } catch (error) {
    show({ text: said(error), isError: true });
    return false;
  }
  after();
  const back = undo && (async () => {
    try {
      await undo();
      show({ text: `Undone: ${what}` });
    } catch (error) {
      show({ text: said(error), isError: true });
    }
    after();
  });
  show({ text: what, ...(back ? { undo: back } : {}) });
  return true;
}

// The places that a viewer can choose from: the first two hundred conversations.
export function useConversations(): Loaded<Conversation[]> {
  const me = useMe();
  return useLoad(
    async (signal) => {
      try {
        const page = await get<{ conversations: Conversation[] }>("/v1/conversations", { limit: 200 }, {}, signal);
        return page.conversations;
      } catch (error) {
        // a key that is bound to nobody and is no owner's may not list; it can still name a place
        if (error instanceof Problem && error.status !== 401) return [];
        throw error;
      }
    },
    [me.tenant, me.key],
  );
}
