// The runs of the session, and their details, which are parsed when one is first asked for.

const DATA = JSON.parse(byId("runs-data").textContent);

/** Make an object of each short row; its name is what the link of the run says. */
function readRuns() {
  return DATA.runs.map((row, place) => {
    const [domain, task, trial, agent, outcome, why, change, fields, rules, tags] = row;
    const run = { place, task, trial, why, change };
    run.domain = DATA.domains[domain];
    run.agent = DATA.agents[agent] || "";
    run.outcome = DATA.outcomes[outcome];
    run.fields = fields.map((one) => DATA.fields[one]);
    run.rules = rules.map((one) => DATA.rules[one]);
    run.tags = tags.map((one) => DATA.tags[one]);
    [run.seconds, run.tokens, run.cost, run.calls, run.answers] = row.slice(10);
    run.name = run.domain + "/" + task + (trial > 1 ? "+" + trial : "") + (DATA.agents.length ? "@" + run.agent : "");
    run.rank = rankOf(run);
    return run;
  });
}

/** What went wrong stands first: lost tasks, other misses, broken rules, then the rest. */
function rankOf(run) {
  const right = run.outcome === "correct";
  if (run.change === "lost" && !right) return 0;
  if (run.outcome === "not_run") return 2;
  if (!right) return 1;
  if (run.change === "lost") return 3;
  if (run.rules.length) return 4;
  return run.change === "gained" ? 5 : 6;
}

const RUNS = readRuns();
const BY_NAME = new Map();
for (const run of RUNS) {
  if (!BY_NAME.has(run.name)) BY_NAME.set(run.name, run);
}
// A task by its name alone stands for its first run, by whichever agent.
for (const run of RUNS) {
  const bare = run.domain + "/" + run.task;
  if (!BY_NAME.has(bare)) BY_NAME.set(bare, run);
}

let parsed = null;

function details() {
  if (parsed === null) parsed = JSON.parse(byId("details-data").textContent);
  return parsed;
}

/** Put long texts back into the place of their references. */
function unpacked(value) {
  if (typeof value === "string") {
    return value.charCodeAt(0) === 1 ? details().strings[Number(value.slice(1))] : value;
  }
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unpacked(one)]));
}

function detailOf(run) {
  const packed = details().runs[run.place];
  return packed === undefined ? null : { ...unpacked(packed), again: details().again[run.place] };
}

function linkOf(run) {
  // What stands in no address, half a character, is looked up as it is shown.
  return "#" + encodeURIComponent(wellFormed(run.name)).replaceAll("%2F", "/").replaceAll("%40", "@").replaceAll("%2B", "+");
}

function wellFormed(text) {
  return text.isWellFormed && text.isWellFormed() ? text : seen(text);
}

