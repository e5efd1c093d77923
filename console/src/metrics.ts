// Reads Prometheus' text format, as /metrics answers it.

export interface Sample {
  labels: Record<string, string>;
  value: number;
}

const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(.)/g;

// The samples of one metric.
export function samples(text: string, name: string): Sample[] {
  const found: Sample[] = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith(name) || !"{ ".includes(line.charAt(name.length))) continue;
    const end = line.lastIndexOf(" ");
    const labels: Record<string, string> = {};
    for (const [, label, value] of line.slice(name.length, end).matchAll(LABEL)) {
      labels[label!] = value!.replace(ESCAPED, (_, sign: string) => (sign === "n" ? "\n" : sign));
    }
    found.push({ labels, value: Number(line.slice(end + 1)) });
  }
  return found;
}
