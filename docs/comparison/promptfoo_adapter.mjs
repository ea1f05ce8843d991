// promptfoo: the `trajectory:*` and `trace-*` assertions on spans, through the library's `runAssertion`. Called in its own
// process, without the database and the command line's table, which is the fastest option.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [casesPath, home, flag, only] = process.argv.slice(2);
const { assertions } = await import(pathToFileURL(join(home, 'node_modules/promptfoo/dist/src/index.js')));

function spans(calls) {
  return calls.map((call, index) => ({
    spanId: String(index),
    name: call.name,
    startTime: index,
    endTime: index + 1,
    statusCode: call.failed ? 2 : 1,
    attributes: {
      'gen_ai.tool.name': call.name,
      ...('text' in call || 'args' in call ? { 'gen_ai.tool.call.arguments': call.text ?? JSON.stringify(call.args) } : {}),
    },
  }));
}

// An assertion tests one thing, so a reference becomes several: names and order, arguments, counts.
function wanted(c) {
  if (c.kind === 'forbidden') return [{ type: 'not-trajectory:tool-used', value: [c.forbidden] }];
  if (c.kind === 'status') return [...used(c), { type: 'trace-error-spans', value: { pattern: c.expected[0].name, max_count: 0 } }];
  if (c.kind !== 'calls' || c.mode === 'subset') return null;
  const mode = c.arguments === 'exact' ? 'exact' : 'partial';
  const list = c.expected.map(({ name, args }) => ({ type: 'trajectory:tool-args-match', value: { name, args, mode } }));
  const steps = c.expected.map((call) => call.name);
  // An empty sequence is rejected, so "no call" is checked by the number of steps.
  if (c.mode === 'strict' && steps.length === 0) list.push({ type: 'trajectory:step-count', value: { type: 'tool', max: 0 } });
  else if (c.mode === 'strict') list.push({ type: 'trajectory:tool-sequence', value: { mode: 'exact', steps } });
  if (c.mode === 'subsequence') list.push({ type: 'trajectory:tool-sequence', value: { mode: 'in_order', steps } });
  if (c.mode === 'superset') list.push(...used(c));
  if (c.mode === 'same-set') list.push(...used(c), { type: 'trajectory:step-count', value: { type: 'tool', max: steps.length } });
  return list;
}

// Each tool at least as often as it is expected.
function used(c) {
  const names = [...new Set(c.expected.map((call) => call.name))];
  return names.map((name) => ({
    type: 'trajectory:tool-used',
    value: { name, min: c.expected.filter((call) => call.name === name).length },
  }));
}

async function judge(c) {
  const list = wanted(c);
  if (list === null) return c.kind === 'claim' ? 'model' : null;
  const traceData = c.recorded === null ? null : { traceId: 't', evaluationId: 'e', testCaseId: 'c', spans: spans(c.recorded) };
  for (const assertion of list) {
    const result = await assertions.runAssertion({
      assertion,
      test: { vars: {} },
      providerResponse: { output: '-' },
      traceId: 't',
      traceData,
    });
    if (!result.pass) return 'fail';
  }
  return 'pass';
}

const verdicts = {};
for (const c of JSON.parse(readFileSync(casesPath, 'utf8')).cases) {
  if (flag === '--only' && c.id !== only) continue;
  try {
    verdicts[c.id] = { verdict: await judge(c) };
  } catch (error) {
    console.error(`${c.id}: ${error.message}`);
    verdicts[c.id] = { verdict: 'error', error: error.name };
  }
}
const { version } = JSON.parse(readFileSync(join(home, 'node_modules/promptfoo/package.json'), 'utf8'));
console.log(JSON.stringify({ version, verdicts }));
process.exit(0); // the library keeps timers alive
