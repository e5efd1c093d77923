// The tenant's keys: made, shown once, revoked after a question.

import { useState } from "preact/hooks";
import { call, get, path, post } from "../api";
import { Busy, Copy, Empty, ErrorNote, More, Tag, Time } from "../parts";
import { act, said, useMe, usePages } from "../state";
import { Short } from "../words";

interface ApiKey {
  id: string;
  role: string;
  agent: string | null;
  user: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

const ENDS = [
  ["", "never"],
  ["1d", "after a day"],
  ["30d", "after 30 days"],
  ["90d", "after 90 days"],
  ["1y", "after a year"],
] as const;

export function Keys() {
  const me = useMe();
  const pages = usePages<ApiKey>(async (cursor, signal) => {
    const page = await get<{ keys: ApiKey[]; next: string | null }>("/v1/keys", { limit: 50, cursor }, {}, signal);
    return { items: page.keys, next: page.next };
  }, []);
  const [asked, ask] = useState<string | null>(null);
  const revoke = (one: ApiKey) => {
    ask(null);
    void act(`Key ${one.id} revoked`, () => call("DELETE", path("v1", "keys", one.id)), pages.reload);
  };
  return (
    <section class="card" aria-label="Keys">
      <h2>Keys</h2>
      {me.key ? <MakeKey after={pages.reload} /> : null}
      <ErrorNote error={pages.error} />
      <Busy when={pages.loading && !pages.items.length} />
      {me.key ? null : (
        <Empty title="No key was made" commands={["keepword keys create --tenant default --role admin", "keepword keys create --tenant default --role agent --agent helper --expires 90d"]}>
          <p>On this machine, every call is the owner's. The first key ends that; it is made on the service's machine, and so are all until the page is read with a key.</p>
        </Empty>
      )}
      {pages.items.length ? (
        <div class="scroll" tabIndex={0} role="region" aria-label="List of keys">
          <table>
            <thead>
              <tr>
                <th>Key</th>
                <th>Role</th>
                <th>Bound to</th>
                <th>Made</th>
                <th>State</th>
                <th>
                  <span class="unseen">Revoke</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {pages.items.map((one) => (
                <tr key={one.id}>
                  <td>
                    <code>{one.id}</code> {one.id === me.key ? <Tag>this tab's</Tag> : null}
                  </td>
                  <td>{one.role}</td>
                  <td>
                    {one.agent ? <>agent <Short text={one.agent} chars={60} /> </> : null}
                    {one.user ? <>user <Short text={one.user} chars={60} /></> : null}
                    {one.agent || one.user ? null : <span class="dim">nobody</span>}
                  </td>
                  <td>
                    <Time at={one.created_at} />
                  </td>
                  <td>
                    <State one={one} />
                  </td>
                  <td>
                    {one.revoked_at ? null : asked === one.id ? (
                      <span role="alertdialog" aria-label={`Revoke ${one.id}`} class="confirm">
                        It stops with the next request, for good.{one.id === me.key ? " This page then asks for another key." : ""}{" "}
                        <button type="button" class="small danger" onClick={() => revoke(one)}>
                          Revoke
                        </button>{" "}
                        <button type="button" class="small" onClick={() => ask(null)}>
                          Keep
                        </button>
                      </span>
                    ) : (
                      <button type="button" class="small danger" aria-label={`Revoke ${one.id} …`} onClick={() => ask(one.id)}>
                        Revoke …
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <More pages={pages} />
        </div>
      ) : null}
    </section>
  );
}

function State({ one }: { one: ApiKey }) {
  if (one.revoked_at)
    return (
      <>
        <Tag kind="bad">revoked</Tag> <Time at={one.revoked_at} />
      </>
    );
  if (!one.expires_at) return <Tag kind="good">works</Tag>;
  return (
    <>
      {Date.parse(one.expires_at) > Date.now() ? <Tag kind="good">works until</Tag> : <Tag kind="warn">ended</Tag>} <Time at={one.expires_at} />
    </>
  );
}

// The secret is in this component's state until it is closed, and nowhere else.
function MakeKey({ after }: { after: () => void }) {
  const [made, show] = useState<{ id: string; secret: string } | null>(null);
  const [error, fail] = useState<string | null>(null);
  const [role, choose] = useState("agent");
  const make = async (form: HTMLFormElement) => {
    fail(null);
    const sent = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    try {
      const answer = await post<{ id: string; secret: string }>("/v1/keys", sent);
      show(answer);
      form.reset();
      after();
    } catch (problem) {
      fail(said(problem));
    }
  };
  if (made)
    return (
      <div class="confirm" role="alert" aria-label="The new key">
        <p>
          Key <code>{made.id}</code>. It is shown this once: keep it where only its user reads it.
        </p>
        <p>
          <code class="secret">{made.secret}</code>
        </p>
        <Copy text={made.secret}>Copy</Copy>{" "}
        <button type="button" class="small" onClick={() => show(null)}>
          I have kept it
        </button>
      </div>
    );
  return (
    <details>
      <summary>Make a key</summary>
      <form
        class="filters"
        aria-label="Make a key"
        onSubmit={(event) => {
          event.preventDefault();
          void make(event.currentTarget);
        }}
      >
        <label>
          <span>Role</span>
          <select name="role" value={role} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="agent">agent: reads and writes</option>
            <option value="reader">reader: reads</option>
            <option value="admin">admin: manages</option>
          </select>
        </label>
        <label>
          <span>Agent that it is bound to</span>
          <input name="agent" autocomplete="off" spellcheck={false} placeholder="any" />
        </label>
        <label>
          <span>User that it is bound to</span>
          <input name="user" autocomplete="off" spellcheck={false} placeholder="any" />
        </label>
        <label>
          <span>It ends</span>
          <select name="expires">
            {ENDS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Make it
        </button>
      </form>
      <ErrorNote error={error} />
    </details>
  );
}
