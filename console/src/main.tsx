// The console's frame: sign-in, navigation, the view that the address names.

import { render, type ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAddress } from "./address";
import { get, key, whenRefused, type WhoAmI } from "./api";
import { eraseDemo, isDemo, leaveDemo } from "./demo";
import { ErrorNote, Link } from "./parts";
import { Me, said, signedIn, useNotice } from "./state";
import { Access } from "./views/access";
import { Health } from "./views/health";
import { Audit } from "./views/audit";
import { Imports } from "./views/imports";
import { Memories } from "./views/memories";
import { People } from "./views/people";
import { Search } from "./views/search";
import { Summaries } from "./views/summaries";
import { Transcript } from "./views/transcript";
import { Try } from "./views/try";
import { Turns } from "./views/turns";
import { Work } from "./views/work";
import { Short } from "./words";

export interface ViewProps {
  query: Record<string, string>;
}

const VIEWS: [string, string, ComponentType<ViewProps>, (me: WhoAmI) => boolean][] = [
  ["turns", "What the agent saw", Turns, () => true],
  ["memories", "Memories", Memories, () => true],
  ["search", "Search bench", Search, () => true],
  ["access", "Who may see what", Access, (me) => me.owner],
  ["transcript", "Transcript", Transcript, () => true],
  ["summaries", "Summaries", Summaries, () => true],
  ["people", "People and agents", People, () => true],
  ["try", "Try extraction", Try, () => true],
  ["work", "Work", Work, (me) => me.owner],
  ["imports", "Imports", Imports, (me) => me.owner],
  ["audit", "Keys and audit", Audit, (me) => me.owner],
  ["health", "Health", Health, () => true],
];

function Console() {
  const { view, query } = useAddress();
  const [me, setMe] = useState<WhoAmI | null>(null);
  const [asks, setAsks] = useState<string | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const enter = () => {
    setFailed(null);
    get<WhoAmI>("/v1/whoami")
      .then((who) => {
        setMe(who);
        setAsks(null);
        signedIn();
      })
      .catch((error: unknown) => setFailed(said(error)));
  };
  useEffect(() => {
    whenRefused((problem) => setAsks(problem.message));
    enter();
  }, []);
  const [, title, View] = VIEWS.find(([name]) => name === view) ?? VIEWS[0]!;
  const shown = me ? VIEWS.filter(([, , , may]) => may(me)) : [];
  useEffect(() => {
    document.title = `${title} · Keepword`;
  }, [title]);
  return (
    <>
      {asks !== null ? <SignIn reason={asks} enter={enter} again={me !== null} /> : null}
      {me ? (
        <div class="frame" inert={asks !== null}>
          <a class="skip" href="#content" onClick={skip}>
            Skip to content
          </a>
          <header>
            <p class="brand">
              <img src="/console/icon.svg" alt="" width="24" height="24" /> Keepword
            </p>
            <nav aria-label="Views">
              <ul>
                {shown.map(([name, label]) => (
                  <li key={name}>
                    <Link view={name} current={title === label}>
                      {label}
                    </Link>
                  </li>
                ))}
              </ul>
            </nav>
            <Who me={me} leave={() => leave(setMe, setAsks)} />
          </header>
          <main id="content" tabIndex={-1} aria-labelledby="title">
            <h1 id="title">{title}</h1>
            <Me.Provider value={me}>
              <View key={title} query={query} />
            </Me.Provider>
          </main>
          <Notices />
        </div>
      ) : (
        <main class="lone">
          <ErrorNote error={asks === null ? failed : null} />
        </main>
      )}
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function leave(setMe: (me: WhoAmI | null) => void, setAsks: (reason: string) => void): void {
  if (isDemo()) leaveDemo();
  key.forget();
  setMe(null);
  setAsks("You signed out.");
}

// In the demo's tenant: the ways out of it.
function InDemo() {
  const [error, fail] = useState<string | null>(null);
  // what the address names is the demo's
  const away = () => {
    location.hash = "transcript";
    location.reload();
  };
  const back = () => {
    leaveDemo();
    away();
  };
  return (
    <div>
      <p>This is the demo's story.</p>
      <button type="button" class="small" onClick={back}>
        Leave the demo
      </button>{" "}
      <button type="button" class="small" onClick={() => void eraseDemo().then(away).catch((problem: unknown) => fail(said(problem)))}>
        Erase the demo
      </button>
      <ErrorNote error={error} />
    </div>
  );
}

function Who({ me, leave }: { me: WhoAmI; leave: () => void }) {
  const [theme, setTheme] = useState(() => localStorage.getItem("keepword-theme") ?? "");
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("keepword-theme", theme);
  }, [theme]);
  return (
    <div class="who">
      <p>
        <Short text={me.tenant} chars={40} />
        <br />
        <span class="dim">
          {me.key ? `key ${me.key}, ${me.role}` : "without a key, on this machine"}
          {me.agent ? ` · agent ${me.agent}` : ""}
          {me.user ? ` · user ${me.user}` : ""}
        </span>
      </p>
      {isDemo() ? <InDemo /> : null}
      <label>
        <span class="unseen">Colours</span>
        <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
          <option value="">As the system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      {me.key ? (
        <button type="button" class="small" onClick={leave}>
          Sign out
        </button>
      ) : null}
    </div>
  );
}

// A key is kept in this tab's session alone. The page stays as it was while a new one is asked for.
function SignIn({ reason, enter, again }: { reason: string; enter: () => void; again: boolean }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <div role="dialog" aria-modal="true" aria-labelledby="sign-in" class={again ? "over" : ""}>
    <form
      class="sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        const value = field.current?.value.trim() ?? "";
        if (!value) return;
        key.set(value);
        enter();
      }}
    >
      <h1 id="sign-in">Keepword</h1>
      <p role="status">
        <Short text={reason} chars={400} />
      </p>
      <label>
        <span>Key</span>
        <input ref={field} type="password" name="key" autocomplete="off" spellcheck={false} placeholder="kw_…" required />
      </label>
      <button type="submit" class="primary">
        Sign in
      </button>
      <p class="dim">The key stays in this tab until it is closed. It is sent to this service alone.</p>
    </form>
    </div>
  );
}

function Notices() {
  const [notice, set] = useNotice();
  return (
    <div class="notices" aria-live="polite">
      {notice ? (
        <div class={notice.isError ? "notice bad" : "notice"}>
          <Short text={notice.text} chars={600} />
          {notice.undo ? (
            <button
              type="button"
              class="small"
              onClick={() => {
                const { undo } = notice;
                set(null);
                void undo?.();
              }}
            >
              Undo
            </button>
          ) : null}
          <button type="button" class="small" aria-label="Close" onClick={() => set(null)}>
            ✕
          </button>
        </div>
      ) : null}
    </div>
  );
}

render(<Console />, document.getElementById("console")!);
