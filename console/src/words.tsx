// How text of others is shown: as text nodes alone, isolated from what stands around it, and never at once in full where
// it is long. Characters that are not seen but change what is seen are shown by their number.

import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

// controls but tab and line feed, soft hyphens, zero-width and bidirectional marks, tags and private use
const HIDDEN =
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}])/u;
const FIRST_CHARS = 1_200;
const NEXT_CHARS = 20_000;

export function visible(text: string): ComponentChildren[] {
  return text.split(HIDDEN).map((part, number) =>
    number % 2 ? (
      <span class="hidden-char" key={number}>
        {"U+" + (part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}
      </span>
    ) : (
      part
    ),
  );
}

// A text in one line or a few: titles, names, excerpts.
export function Short({ text, chars = 160 }: { text: string | null | undefined; chars?: number }) {
  const whole = text ?? "";
  const cut = whole.length > chars ? whole.slice(0, chars).replace(/[\ud800-\udbff]$/, "") + "…" : whole;
  return (
    <bdi dir="auto" class="short">
      {visible(cut.replace(/\s+/g, " "))}
    </bdi>
  );
}

// A whole text with its lines; a long one is shown piece by piece.
export function Words({ text, chars = FIRST_CHARS }: { text: string | null | undefined; chars?: number }) {
  const whole = text ?? "";
  const [most, set] = useState(chars);
  const end = whole.length > most ? most - (/[\ud800-\udbff]$/.test(whole.slice(0, most)) ? 1 : 0) : whole.length;
  return (
    <>
      <div class="words" dir="auto">
        {visible(whole.slice(0, end))}
        {end < whole.length ? "…" : null}
      </div>
      {end < whole.length ? (
        <button type="button" class="small" onClick={() => set(most + NEXT_CHARS)}>
          Show more ({end.toLocaleString()} of {whole.length.toLocaleString()} characters)
        </button>
      ) : null}
    </>
  );
}

export function counted(count: number, what: string): string {
  return `${count.toLocaleString()} ${what}${count === 1 ? "" : "s"}`;
}
