// Opens pages of the HTML report from disk and checks what they show.
// usage: node pages.mjs ROOT FOLDER PROGRAM BROWSER main|all

import { spawnSync } from "node:child_process";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { checks, long } from "./checks.mjs";
import { deep, hostile, thousand } from "./corpus.mjs";

const [root, folder, program, executablePath, which] = process.argv.slice(2);
const need = createRequire(join(folder, "driver", "package.json"));
const { chromium } = need("playwright-core");
const axe = need("axe-core").source;

const EXAMPLES = ["quickstart", "reliability", "fault-injection-recovery", "narrative-divergence", "model-matrix", "agent-stability"];
/** Time limits in ms, for a check and for one action. */
const CHECK_LIMIT = 120_000;
const ACTION_LIMIT = 15_000;

const out = join(folder, "pages");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const place = (name) => join(out, name);

function mcptest(expected, ...args) {
  const done = spawnSync(program, args, { cwd: root, encoding: "utf8", timeout: 120_000, env: {}, stdio: ["ignore", "ignore", "pipe"] });
  assert.ok(expected.includes(done.status), `mcptest ${args.join(" ")}: exit code ${done.status}\n${done.stderr}`);
}

/** Renders a generated report. */
function render(name, report) {
  writeFileSync(place(name + ".json"), JSON.stringify(report));
  mcptest([0], "report", place(name + ".json"), "--reporter", "html=" + place(name + ".html"), "--reporter", "json=" + place(name + ".again.json"));
  const [page, saved] = ["html", "again.json"].map((end) => statSync(place(name + "." + end)).size);
  console.log(`${name}: the page has ${(page / 1e6).toFixed(1)} MB, x${(page / saved).toFixed(2)} of the JSON`);
  return { page, saved };
}

function pages() {
  for (const name of EXAMPLES) {
    mcptest([0, 1], "run", `examples/${name}.yml`, "--reporter", "html=" + place(name + ".html"), "--reporter", "json=" + place(name + ".json"));
  }
  mcptest([0, 1], "score", "examples/score-your-traces/support-1.jsonl", "examples/score-your-traces/support-2.jsonl",
    "--gates", "examples/score-your-traces/gates-of-runs.yml", "--group-by", "task_id", "--reporter", "html=" + place("score.html"));
  const read = (name) => JSON.parse(readFileSync(place(name + ".json"), "utf8"));
  const all = { ...read("quickstart"), suites: EXAMPLES.flatMap((name) => read(name).suites) };
  render("hostile", hostile(all));
  const size = render("thousand", thousand());
  assert.ok(size.page <= 3 * size.saved, `the page of a thousand runs has ${size.page} bytes, its JSON ${size.saved}`);
  render("deep", deep());
}

/** A page, with everything it logs, asks for or fails with. */
async function open(browser, name, { hash = "", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(ACTION_LIMIT);
  const url = pathToFileURL(place(name + ".html")).href;
  const noise = [];
  page.on("dialog", (dialog) => {
    noise.push("dialog: " + dialog.message());
    dialog.dismiss().catch(() => {});
  });
  page.on("console", (message) => noise.push("console: " + message.text()));
  page.on("pageerror", (error) => noise.push("error: " + error.message));
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url) noise.push("request: " + request.url());
  });
  await page.goto(url + hash);
  return { page, url, noise };
}

async function main() {
  pages();
  const chosen = Object.entries(checks).filter(([name]) => which === "all" || !long.includes(name));
  const browser = await chromium.launch({ executablePath, timeout: 30_000 });
  const failures = [];
  try {
    for (const [name, run] of chosen) {
      const opened = [];
      const tools = {
        axe, place, out,
        open: async (...args) => {
          const one = await open(browser, ...args);
          opened.push(one);
          return one.page;
        },
      };
      const begun = Date.now();
      let timer;
      const limit = new Promise((_, no) => { timer = setTimeout(() => no(new Error(`not finished within ${CHECK_LIMIT} ms`)), CHECK_LIMIT); });
      try {
        const detail = await Promise.race([run(tools), limit]);
        for (const { noise } of opened) assert.deepEqual(noise, [], "the page logged, asked or requested something");
        console.log(`ok: ${name}, ${Date.now() - begun} ms` + (detail ? " (" + detail + ")" : ""));
      } catch (error) {
        failures.push(name);
        console.log("failed: " + name + "\n" + error.stack);
      } finally {
        clearTimeout(timer);
        for (const { page } of opened) await page.context().close().catch(() => {});
      }
    }
  } finally {
    await browser.close();
  }
  if (failures.length) {
    console.log(`error: ${failures.length} of ${chosen.length} checks failed: ${failures.join("; ")}`);
    process.exitCode = 1;
  } else {
    console.log(`${chosen.length} checks passed`);
  }
}

await main();
