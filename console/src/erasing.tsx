// Erasing for good: what would go is counted first, and whoever asks writes the name of what goes.

import { useEffect, useId, useState } from "preact/hooks";
import { call, get, path } from "./api";
import { ErrorNote, Tree } from "./parts";
import { said } from "./state";
import { Short } from "./words";

interface Erasure {
  id: string | null;
  state: "running" | "erased" | "done";
  counts: Record<string, number>;
  erased_messages: number;
}

const LOOK_MS = 2000;

// `name` is written to confirm; `at` is the path whose DELETE erases it.
export function Erase({ what, name, at, erased }: { what: string; name: string; at: string; erased: () => void }) {
  const [plan, show] = useState<Record<string, number> | null>(null);
  const [running, follow] = useState<Erasure | null>(null);
  const [written, write] = useState("");
  const [error, fail] = useState<string | null>(null);
  const field = useId();
  const ask = async (dry_run: boolean) => {
    fail(null);
    try {
      const answer = await call<Erasure>("DELETE", at, { query: { dry_run } });
      if (dry_run) show(answer.counts);
      else follow(answer);
    } catch (problem) {
      fail(said(problem));
    }
  };
  useEffect(() => {
    if (!running?.id || running.state === "done") return undefined;
    const timer = setTimeout(() => {
      get<Erasure>(path("v1", "erasures", running.id ?? ""))
        .then(follow)
        .catch((problem: unknown) => fail(said(problem)));
    }, LOOK_MS);
    return () => clearTimeout(timer);
  }, [running]);
  if (running)
    return (
      <div class="confirm" role="status">
        <p>
          {running.state === "running" ? `Nobody reads it any more. ${running.erased_messages.toLocaleString()} messages have lost their words so far …` : running.state === "erased" ? "All rows are gone; the database's files are being rewritten …" : "It is gone, from the database's files as well."}
        </p>
        <ErrorNote error={error} />
        <button type="button" class="small" onClick={erased}>
          Close
        </button>
      </div>
    );
  if (!plan)
    return (
      <>
        <button type="button" class="danger" onClick={() => void ask(true)}>
          Erase {what} …
        </button>
        <ErrorNote error={error} />
      </>
    );
  return (
    <div role="alertdialog" aria-label={`Erase ${what}`} class="confirm">
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (written === name) void ask(false);
      }}
    >
      <p>This would go, for good; nothing brings it back:</p>
      <Tree value={plan} />
      <label for={field}>
        <span>
          Write <Short text={name} chars={200} /> to erase it
        </span>
        <input id={field} value={written} autocomplete="off" spellcheck={false} onInput={(event) => write(event.currentTarget.value)} />
      </label>
      <div class="bar">
        <button type="submit" class="danger" disabled={written !== name}>
          Erase
        </button>
        <button type="button" onClick={() => show(null)}>
          Keep
        </button>
      </div>
      <ErrorNote error={error} />
    </form>
    </div>
  );
}
