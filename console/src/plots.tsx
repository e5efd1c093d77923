// Plots, drawn by hand: lines over time, and ranges on a scale of powers of ten. Each has its numbers beside it as text.

const WIDTH = 600;

export interface Point {
  at: number;
  value: number;
}

// A line over time; the scale begins at 0.
export function Line({ points, label, unit, span }: { points: Point[]; label: string; unit: string; span?: string }) {
  const height = 80;
  const last = points.at(-1);
  if (points.length < 2 || !last) return <p class="dim">{label}: two readings make a line; the second comes in a few seconds.</p>;
  const first = points[0]!;
  const top = Math.max(...points.map((one) => one.value), 1e-9);
  const x = (at: number) => ((at - first.at) / Math.max(1, last.at - first.at)) * WIDTH;
  const y = (value: number) => height - 4 - (value / top) * (height - 10);
  const path = points.map((one, number) => `${number ? "L" : "M"}${x(one.at).toFixed(1)} ${y(one.value).toFixed(1)}`).join("");
  const shown = (value: number) => value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 });
  return (
    <figure class="plot">
      <figcaption>
        {label}: {shown(last.value)} {unit}, at most {shown(top)}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${label}, the last ${span ?? `${Math.round((last.at - first.at) / 1000)} seconds`}`}>
        <path class="area" d={`${path}L${WIDTH} ${height}L0 ${height}Z`} />
        <path class="line" d={path} />
      </svg>
    </figure>
  );
}

export interface Range {
  name: string;
  from: number;
  to: number;
}

const DECADES = [0.001, 0.01, 0.1, 1, 10];

// From the median to the 95th percentile of each, in seconds.
export function Ranges({ rows, label }: { rows: Range[]; label: string }) {
  const row = 22;
  const names = 250;
  const height = rows.length * row + 24;
  const low = Math.log10(DECADES[0]!);
  const span = Math.log10(DECADES.at(-1)!) - low;
  const x = (seconds: number) => names + Math.max(0, Math.min(1, (Math.log10(Math.max(seconds, 1e-4)) - low) / span)) * (WIDTH - names - 10);
  return (
    <figure class="plot">
      <figcaption>{label}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label}>
        {DECADES.map((one) => (
          <g key={one}>
            <line class="rule" x1={x(one)} x2={x(one)} y1={0} y2={height - 18} />
            <text x={x(one)} y={height - 4} text-anchor={one === 10 ? "end" : "middle"}>
              {one < 1 ? `${one * 1000} ms` : `${one} s`}
            </text>
          </g>
        ))}
        {rows.map((one, number) => (
          <g key={one.name}>
            <text x={0} y={number * row + 15}>
              {one.name.length > 38 ? one.name.slice(0, 37) + "…" : one.name}
            </text>
            <rect class="range" x={x(one.from)} y={number * row + 6} width={Math.max(3, x(one.to) - x(one.from))} height={10} rx={3} />
          </g>
        ))}
      </svg>
    </figure>
  );
}

// Counts as bars that share one scale.
export function Bars({ rows }: { rows: [string, number][] }) {
  const top = Math.max(1, ...rows.map(([, many]) => many));
  return (
    <dl class="facts bars">
      {rows.map(([name, many]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <span class="bar-of">
              <span class="share-full" style={{ width: `${(100 * many) / top}%` }} />
            </span>{" "}
            {many.toLocaleString()}
          </dd>
        </div>
      ))}
    </dl>
  );
}
