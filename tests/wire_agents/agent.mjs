// The reference policy of dangerous_goods in JavaScript: a child for each run, by HTTP, or one for
// all, by JSON lines.
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

const SCORES = [
  ["calculate_sds_label_score", "sds_label_text", "sds_label_score"],
  ["calculate_handling_score", "handling_guidelines", "handling_score"],
  ["calculate_transport_score", "transport_requirements", "transport_score"],
  ["calculate_disposal_score", "disposal_guidelines", "disposal_score"],
];
const CLASSES = [[16, "D"], [12, "C"], [8, "B"], [4, "A"]];

async function decide(inputs, call) {
  if (!/^UN[0-9]{4}$/.test(inputs.un_number ?? "")) return "Unable to Decide";
  const found = [];
  for (const [tool, section, score] of SCORES) {
    const told = await call(tool, { product_id: inputs.product_id, [section]: inputs[section] });
    const value = told.error === undefined ? told.result[score] : null;
    found.push([1, 2, 3, 4, 5].includes(value) ? value : null);
  }
  const valid = found.filter((one) => one !== null);
  const missing = found.length - valid.length;
  if (missing > 2 || (missing === 2 && found[0] === null)) return "Unable to Decide";
  const total = valid.reduce((sum, one) => sum + one, missing * Math.max(...valid));
  let letter = CLASSES.find(([lowest]) => total >= lowest)[1];
  if (valid.includes(5)) letter = letter > "C" ? letter : "C";
  else if (!missing && inputs.net_quantity_kg <= 1) letter = { C: "B", B: "A" }[letter] ?? letter;
  const { product_id } = inputs;
  await call("record_class", { product_id, hazard_class: letter, total_score: total });
  return `Hazard Class ${letter}`;
}

async function answer(request, call) {
  return { output: { hazard_class: await decide(request.inputs, call) } };
}

if (process.argv[2] === "exec") {
  const request = JSON.parse(await text(process.stdin));
  const call = async (tool, args) => {
    const url = `${request.tools.http.url}/${tool}`;
    return (await fetch(url, { method: "POST", body: JSON.stringify(args) })).json();
  };
  console.log(JSON.stringify(await answer(request, call)));
} else {
  const say = (message) => console.log(JSON.stringify(message));
  const waiting = new Map();
  let number = 0;
  say({ type: "ready", protocol: 1, concurrency: 32 });
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    if (message.type === "run") {
      const run = message.run.id;
      const call = (tool, args) =>
        new Promise((resolve) => {
          waiting.set((number += 1), resolve);
          say({ type: "call", run, call: number, tool, arguments: args });
        });
      answer(message, call).then((told) => say({ type: "answer", run, ...told }));
    } else if (message.type === "result") {
      waiting.get(message.call)(message);
      waiting.delete(message.call);
    }
  }
}
