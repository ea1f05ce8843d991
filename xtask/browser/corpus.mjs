// Reports beyond the examples: one with hostile text, one with a thousand runs, one with a run of ten thousand calls.

const HOSTILE = [
  "</script><script>window.hacked = 1; alert(1)</script>",
  '<img src="https://example.invalid/x.png" onerror="window.hacked = 1">',
  "<style>body { display: none !important; background: url(https://example.invalid/x.css) }</style>",
  '<iframe src="https://example.invalid/"></iframe><object data="https://example.invalid/"></object>',
  "\" onmouseover=\"window.hacked = 1\" x='",
  "<!--<script>window.hacked = 1</script>",
  "<svg onload=window.hacked=1><a href=javascript:window.hacked=1>x</a></svg>",
  "\u202etxt.exe\u202c \u2066left\u2069 \u200b\u200f\u00ad\ufeff\u{e0041}\u2028\u2029",
  "\u0000\u0007\u001b[31mred\u001b[0m\u007f\u0085",
  "]]>&lt;script&gt;&amp;#x3c; ${window.hacked = 1} {{constructor.constructor('window.hacked = 1')()}}",
];
/** Five megabytes without a line break. */
export const HUGE = "<b>" + "x".repeat(5_000_000);
/** Keys with a closed set of values, and references. */
const CLOSED = new Set(["verdict", "family", "origin", "role", "kind", "effect", "type", "gate", "stop_reason", "target", "path", "recovered"]);

/** The report with every foreign text replaced. */
export function hostile(report) {
  let next = 0;
  const bad = () => HOSTILE[next++ % HOSTILE.length];
  const change = (value, key, parent) => {
    if (typeof value === "string") {
      const isCheck = key === "name" && "metrics" in parent;
      return CLOSED.has(key) || isCheck ? value : bad();
    }
    if (Array.isArray(value)) return value.map((one) => change(one, key, {}));
    if (value === null || typeof value !== "object") return value;
    const entries = Object.entries(value).map(([name, one]) => [name, change(one, name, value)]);
    return Object.fromEntries(key === "args" ? entries.map(([, one], at) => [bad() + at, one]) : entries);
  };
  const made = structuredClone(report);
  made.suites = made.suites.map((suite) => {
    // Rows of a test stay together.
    const names = new Map();
    const rows = suite.rows.map((row) => {
      const changed = change(row, "row", {});
      if (!names.has(row.test)) names.set(row.test, bad());
      changed.test = names.get(row.test);
      return changed;
    });
    return { file: bad(), rows };
  });
  const trace = made.suites[0].rows[0].trace;
  trace.final_response = HUGE;
  trace.tool_calls[0].args = { [HOSTILE[1]]: HUGE };
  trace.tool_results[0].content = [{ type: "text", text: HUGE }];
  // Long where texts are short otherwise.
  const large = HUGE.slice(0, 1_000_000);
  const second = made.suites[0].rows[1];
  Object.assign(second, { name: large, test: large, model: large });
  second.trace.tool_calls[0].name = large;
  for (const check of second.checks) Object.assign(check, { line: large, failures: [{ reason: large, target: "x", diffs: [{ path: large, note: large, expected: large, actual: large }] }] });
  made.suites.push({ file: HOSTILE[0], refused: HOSTILE.join("\n"), rows: [] });
  made.notes = HOSTILE.map((text) => ({ rows: 0, suites: 0, text }));
  return made;
}

function trace(calls, turnless = false) {
  const list = Array.from({ length: calls }, (_, at) => at);
  const turns = [{ role: "user", content: "Look it up." }];
  for (const _ of list) turns.push({ role: "assistant", content: null }, { role: "tool", content: "it rains" });
  turns.push({ role: "assistant", content: "It rains everywhere." });
  return {
    tool_calls: list.map((at) => ({ name: at % 7 ? "search" : "open", server: "web", args: { q: "rain in city " + at, page: at }, turn: turnless ? 1 : 2 * at + 1 })),
    tool_results: list.map((at) => ({ is_error: at % 50 === 49, content: [{ type: "text", text: "it rains in city " + at }], duration_ms: 3 })),
    final_response: "It rains everywhere.",
    conversation: { model: "demo", turns, stop_reason: "completed", duration_ms: 150 },
  };
}

function row(test, run, calls, turnless) {
  const verdict = run % 10 === 0 ? "fail" : "pass";
  const expected = Array.from({ length: Math.min(calls, 400) }, (_, at) => ({ name: at % 7 ? "search" : "open", call: at }));
  const failures = verdict === "fail" ? [{ reason: "call 3 is missing", target: "trajectory.passed" }] : [];
  return {
    name: test + " #" + run, family: "RUN", test, model: "demo", run, line: 3, verdict, origin: "replayed", duration_ms: 150,
    checks: [{ name: "trajectory", verdict, line: "1 of 1 expected calls matched", metrics: { passed: 1, mismatch_count: 0 }, failures,
      ...(calls > 100 ? { picture: { calls: expected } } : {}) }],
    trace: trace(calls, turnless),
  };
}

const report = (rows) => ({ mcptest: 1, exit_code: 1, notes: [], suites: [{ file: "large.yml", rows }], totals: {} });

/** A thousand runs of fifty calls, of 25 tests, the first of which has more runs than are built at once. */
export function thousand() {
  const rows = [];
  for (let test = 0; test < 25; test++) for (let run = 1; run <= (test ? 30 : 280); run++) rows.push(row("test " + test, run, 50));
  return report(rows);
}

/** A run with ten thousand calls in as many turns, and one with all of them in a single turn. */
export const deep = () => report([row("many turns", 1, 10_000), row("one turn", 1, 10_000, true)]);
