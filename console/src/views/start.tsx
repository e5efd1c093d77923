// Where nothing is stored yet: the commands that fill it, and the demo's story.

import { useState } from "preact/hooks";
import { openDemo } from "../demo";
import { Empty, ErrorNote } from "../parts";
import { said, useMe } from "../state";

export function Start() {
  const me = useMe();
  return (
    <Empty
      title="Nothing is stored yet"
      commands={[
        `curl -X PUT ${location.origin}/v1/conversations/demo \\`,
        `     -H 'Content-Type: application/json' -d '{"title": "Hello"}'`,
        `curl -X POST ${location.origin}/v1/conversations/demo/messages \\`,
        `     -H 'Content-Type: application/json' -d '{"role": "user", "content": "We fly on Friday."}'`,
        `curl -X POST ${location.origin}/v1/compose \\`,
        `     -H 'Content-Type: application/json' -d '{"conversation": "demo", "message": "When do we fly?"}'`,
      ]}
    >
      <p>These three commands make a conversation, store a message and compose what an agent would see.</p>
      {me.owner ? <DemoButton /> : null}
      <p>
        The same story on the command line: <code>keepword demo</code>, or into this tenant: <code>keepword demo --to-service</code>
      </p>
    </Empty>
  );
}

function DemoButton() {
  const [progress, set] = useState<string | null>(null);
  const [error, fail] = useState<string | null>(null);
  const open = () => {
    set("Opening a tenant of its own …");
    fail(null);
    openDemo((done, of) => set(`${done} of ${of} requests told …`))
      // all views read with the demo's key from now on
      .then(() => location.reload())
      .catch((problem: unknown) => {
        set(null);
        fail(said(problem));
      });
  };
  return (
    <>
      <p>
        <button type="button" disabled={progress !== null} onClick={open}>
          Play the demo's story
        </button>{" "}
        Two people, five places, and what stays where it was said: in a tenant of its own, nothing of yours is touched.
      </p>
      {progress ? <p role="status">{progress}</p> : null}
      <ErrorNote error={error} />
    </>
  );
}
