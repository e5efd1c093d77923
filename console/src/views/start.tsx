// Where nothing is stored yet: the commands that fill it, and the demo's story.

import { Empty } from "../parts";

export function Start() {
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
      <p>
        A story with two people, five places and what stays where it was said:{" "}
        <code>keepword demo --to-service</code>
      </p>
    </Empty>
  );
}
