// The page's state lives behind the # of its address: it can be kept and sent, and no server reads it.

import { useEffect, useState } from "preact/hooks";

export interface Address {
  view: string;
  query: Record<string, string>;
}

export function parse(hash: string): Address {
  const [view = "", text = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view: decodeURIComponent(view), query: Object.fromEntries(new URLSearchParams(text)) };
}

export function write(view: string, query: Record<string, string | undefined> = {}): string {
  const kept = Object.entries(query).filter((one): one is [string, string] => Boolean(one[1]));
  const text = new URLSearchParams(kept).toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

export function go(view: string, query: Record<string, string | undefined> = {}, replace = false): void {
  const address = write(view, query);
  if (replace) {
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = address;
  }
}

export function useAddress(): Address {
  const [address, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const follow = () => set(parse(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return address;
}
