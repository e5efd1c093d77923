// Builds the console into a folder: one page, one script, one style sheet. The same source makes the same bytes.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";

const out = process.argv[2] ?? "../src/keepword/http/console";
await mkdir(out, { recursive: true });
await build({
  entryPoints: { console: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "inline",
});
await build({ entryPoints: { console: "src/style.css" }, outdir: out, minify: true, legalComments: "none" });
for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${out}/${name}`);
