"use strict";
// Everything that a trace says is put into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SIGNS = { pass: "✓", fail: "✗", inconclusive: "≈", unassessable: "?", error: "!", absorbed: "~", skipped: "-", unjudged: "·" };
  // Most characters of a text, and most items of a list, that are built before somebody asks for more.
  const LONG = 2000;
  const STEP = 200;
  // Rows of a cell and cells of a suite take more room.
  const ROWS = 50;
  const CELLS = 20;
  // Failures that are open when the page opens.
  const OPEN = 10;

  // Characters that would hide or turn around what stands beside them are written out.
  const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0d\uffa0\ufff0-\ufff8\u{e0000}-\u{e0fff}]/gu;
  const shown = (text) =>
    text.replace(ACTING, (c) => (c === "\n" || c === "\t" ? c : "\\u{" + c.codePointAt(0).toString(16) + "}"));
  const cut = (text, most) => (text.length > most ? text.slice(0, most).replace(/[\ud800-\udbff]$/, "") + "…" : text);
  const named = (text) => cut(text, 300);
  const many = (count, word) => count + " " + word + (count === 1 ? "" : "s");

  const el = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : key === "value" ? value : shown(String(value)));
    }
    for (const child of children.flat(2)) {
      if (child !== null && child !== undefined) made.append(typeof child === "string" ? shown(child) : child);
    }
    return made;
  };
  const svg = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, shown(String(value)));
    made.append(...children.map(shown));
    return made;
  };
  const sign = (verdict) => el("span", { class: verdict }, SIGNS[verdict] + " " + verdict);

  // A text that may be very long: its beginning, and the rest when it is asked for.
  const long = (text, tag = "pre") => {
    if (text.length <= LONG) return el(tag, {}, text);
    const holder = el(tag, { tabindex: "-1" }, cut(text, LONG));
    const more = el("button", { type: "button", onclick: () => {
      holder.textContent = shown(text);
      holder.focus();
      more.remove();
    } }, "show all " + text.length + " characters");
    return [holder, more];
  };
  const json = (value) => JSON.stringify(value, null, 2);
  const brief = (value) => (value === undefined ? "" : cut(JSON.stringify(value), 90));
  // The first of many, and how many are left out.
  const few = (list, most, word, make, tag = "li") =>
    [...list.slice(0, most).map(make), list.length > most ? el(tag, { class: "faint" }, "and " + many(list.length - most, "more " + word)) : null];

  // Builds only the visible part of a long list, and more of it as the reader scrolls.
  const gradual = (list, step, make) => {
    let [count, from, to] = [0, 0, 0];
    const earlier = el("button", { type: "button", onclick: () => {
      const before = Math.max(0, from - step);
      list.prepend(...items(before, from));
      from = before;
      update();
    } });
    // The button may be hidden now, so the first new item gets the focus.
    const later = el("button", { type: "button", onclick: () => {
      const at = list.childElementCount;
      grow();
      const next = list.children[at] && list.children[at].querySelector("summary, a");
      if (next) next.focus({ preventScroll: true });
    } });
    const items = (first, end) => Array.from({ length: end - first }, (_, at) => make(first + at));
    const update = () => {
      earlier.hidden = from === 0;
      later.hidden = to >= count;
      earlier.textContent = "show earlier (" + from + " before)";
      later.textContent = "show more (" + (count - to) + " left)";
    };
    const grow = () => {
      const end = Math.min(count, to + step);
      list.append(...items(to, end));
      to = end;
      update();
      // Observe it again: it may still be visible.
      watch.unobserve(later);
      watch.observe(later);
    };
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && !later.hidden && grow());
    const holder = el("div", {}, earlier, list, later);
    // Shows the list from its beginning, or from shortly before an item that is looked for.
    holder.fill = (length, at = 0) => {
      count = length;
      from = to = at < step ? 0 : at - 5;
      list.replaceChildren();
      grow();
    };
    holder.growTo = (most) => {
      while (to < Math.min(count, most)) grow();
    };
    holder.reach = (at) => {
      if (at < from || at >= to) holder.fill(count, at);
    };
    return holder;
  };

  // ---- the rows, as cells of one test and one model

  const cells = [];
  // Rows of a cell come one after another: runs by their number, each with what became of its faults, then the gates over
  // all of them. A run without a number was recorded elsewhere and is a cell of its own.
  const isLoose = (row) => row.family === "RUN" && row.run === undefined;
  const goesOn = (cell, row) => {
    if (!cell || cell.test !== row.test || cell.model !== row.model || isLoose(cell.rows[0]) || isLoose(row)) return false;
    const before = cell.rows[cell.rows.length - 1].run;
    return row.run === undefined || (row.family === "EDGE" ? before <= row.run : before < row.run);
  };
  data.suites.forEach((suite, s) => {
    let last = null;
    suite.cells = [];
    (suite.rows || []).forEach((row, r) => {
      row.id = "s" + s + "r" + r;
      // What nobody judged has no verdict.
      row.verdict = row.verdict || "unjudged";
      row.suite = suite;
      if (!goesOn(last, row)) {
        last = { id: "s" + s + "c" + suite.cells.length, suite, test: row.test, model: row.model, rows: [], runs: [], over: [] };
        suite.cells.push(last);
        cells.push(last);
      }
      last.rows.push(row);
      (row.family === "GATE" ? last.over : last.runs).push(row);
      row.cell = last;
    });
  });
  const rows = cells.flatMap((cell) => cell.rows);
  const byId = new Map([...rows, ...cells].map((one) => [one.id, one]));
  const calls = (row) => (row.trace && row.trace.tool_calls) || [];
  const answers = (row) => (row.trace && row.trace.tool_results) || [];
  const failed = (answer) =>
    answer ? Boolean(answer.error || (answer.fault && answer.fault.effect !== "delay") || answer.is_error) : null;
  const worst = (cell) => {
    const order = ["error", "fail", "unassessable", "inconclusive", "skipped", "unjudged", "pass", "absorbed"];
    // Runs that were absorbed leave the verdict to the gate that absorbed them.
    return order.find((verdict) => cell.rows.some((row) => row.verdict === verdict));
  };
  const isBad = (row) => ["fail", "error", "unassessable", "inconclusive"].includes(row.verdict);
  // What failed comes first: files, tests, and runs, each otherwise in its own order.
  const badFirst = (list, bad) => [...list.filter(bad), ...list.filter((one) => !bad(one))];
  const isBadCell = (cell) => cell.rows.some(isBad);
  for (const cell of cells) {
    const runs = new Set(cell.runs.filter(isBad).map((row) => row.run));
    cell.shown = badFirst(cell.runs, (row) => isBad(row) || (row.run !== undefined && runs.has(row.run)));
  }
  for (const suite of data.suites) suite.shown = badFirst(suite.cells, isBadCell);
  const suites = badFirst(data.suites, (suite) => suite.refused || suite.cells.some(isBadCell));

  // ---- paths of the runs of a cell

  // A tree of tool names; a chain without a branch is one line.
  const tree = (cell) => {
    const root = { next: new Map(), count: 0, ends: [] };
    for (const row of cell.runs) {
      if (row.family !== "RUN" || !row.trace || !row.trace.tool_calls) continue;
      let node = root;
      node.count += 1;
      calls(row).forEach((call, at) => {
        const name = cut(call.name, 100) + (failed(answers(row)[at]) ? " (failed)" : "");
        if (!node.next.has(name)) node.next.set(name, { next: new Map(), count: 0, ends: [] });
        node = node.next.get(name);
        node.count += 1;
      });
      node.ends.push(row);
    }
    return root;
  };
  // Names in a row. A repeated name is shown once; of a long list only both ends are shown.
  const chain = (names) => {
    const parts = [];
    for (const name of names) {
      const last = parts[parts.length - 1];
      if (last && last.name === name) last.times += 1;
      else parts.push({ name, times: 1 });
    }
    const words = parts.map((part) => part.name + (part.times > 1 ? " ×" + part.times : ""));
    if (words.length > 14) words.splice(10, words.length - 13, "… " + (words.length - 13) + " more …");
    return words.join(" → ");
  };
  const branch = (node, all) => {
    const next = [...node.next].sort((a, b) => b[1].count - a[1].count);
    return el("ul", {}, few(next, 50, "path", ([first, child]) => {
      const names = [first];
      let at = child;
      while (at.next.size === 1 && at.ends.length === 0) {
        const [[name, only]] = at.next;
        names.push(name);
        at = only;
      }
      return el("li", {}, el("strong", {}, at.count + "/" + all + " "), chain(names), " ", ends(at), at.next.size ? branch(at, all) : null);
    }));
  };
  const ends = (node) =>
    node.ends.length ? el("span", { class: "faint" }, "end:", few(node.ends, 20, "run", (row) => [" ", link(row)], "span")) : null;
  const isOneOfMany = (row) => row.run !== undefined && row.cell.runs.some((other) => other.run !== row.run);
  const link = (row) => {
    const text = SIGNS[row.verdict] + (row.gate ? " " + row.gate + (isOneOfMany(row) ? "#" + row.run : "") : isOneOfMany(row) ? "#" + row.run : " " + row.verdict);
    const title = named(row.name) + ": " + row.verdict;
    return el("a", { href: "#" + row.id, class: row.verdict, title, "aria-label": text + ", " + title }, text);
  };
  const paths = (cell) => {
    const root = tree(cell);
    if (root.count < 2) return null;
    const top = branch(root, root.count);
    if (root.ends.length) top.append(el("li", {}, el("strong", {}, root.ends.length + "/" + root.count + " "), "no call ", ends(root)));
    return el("section", { class: "paths", "aria-label": "paths of the runs" }, el("h4", {}, "Paths"), top);
  };

  // ---- charts

  const percent = (value) => (Math.round(value * 10) / 10) + " %";
  const decay = (curve) => {
    const [w, h] = [220, 90];
    const x = (at) => curve.length < 2 ? 0 : (at * w) / (curve.length - 1);
    const y = (value) => h - (value * h) / 100;
    const shown = curve.length > 20 ? [0, curve.length - 1] : [...curve.keys()];
    const words = shown.map((at) => at + 1 + ": " + percent(curve[at])).join(", ");
    const chart = svg("svg", { viewBox: "-34 -8 270 124", width: 270, height: 124, role: "img", "aria-label": "runs in a row that all pass, in percent: " + words });
    for (const level of [0, 50, 100]) {
      chart.append(svg("line", { x1: 0, x2: w, y1: y(level), y2: y(level), class: "axis" }));
      chart.append(svg("text", { x: -6, y: y(level) + 4, "text-anchor": "end" }, String(level)));
    }
    chart.append(svg("polyline", { points: curve.map((value, at) => x(at) + "," + y(value)).join(" "), class: "curve" }));
    if (curve.length <= 50) curve.forEach((value, at) => chart.append(svg("circle", { cx: x(at), cy: y(value), r: 2.5, class: "dot" })));
    chart.append(svg("text", { x: 0, y: h + 20 }, "1 run"));
    chart.append(svg("text", { x: w, y: h + 20, "text-anchor": "end" }, curve.length + " in a row"));
    return el("figure", {}, el("figcaption", {}, "Decay: k runs in a row, by the rate of the first k"), chart);
  };
  const interval = (metrics) => {
    const [low, rate, high] = [metrics.wilson_low, metrics.pass_rate, metrics.wilson_high];
    if (rate === undefined || low === undefined || high === undefined) return null;
    const w = 220;
    const x = (value) => (value * w) / 100;
    const words = percent(rate) + ", interval " + percent(low) + " to " + percent(high);
    const chart = svg("svg", { viewBox: "-10 -8 250 50", width: 250, height: 50, role: "img", "aria-label": "pass rate " + words });
    chart.append(svg("line", { x1: 0, x2: w, y1: 10, y2: 10, class: "axis" }));
    chart.append(svg("rect", { x: x(low), y: 4, width: Math.max(x(high) - x(low), 1), height: 12, class: "band" }));
    chart.append(svg("circle", { cx: x(rate), cy: 10, r: 4, class: "dot" }));
    for (const level of [0, 50, 100]) chart.append(svg("text", { x: x(level), y: 34, "text-anchor": "middle" }, String(level)));
    return el("figure", {}, el("figcaption", {}, "Pass rate " + words), chart);
  };
  // Higher is better. The spread and the flag for an early split are in the line of the gate.
  const SCORES = ["score", "weakest_score", "response_consistency", "tool_usage_stability", "redundancy", "cost_per_progress",
    "tool_sequence_similarity", "argument_consistency"];
  const bars = (metrics) => {
    const box = el("div", { class: "bars" });
    for (const name of SCORES) {
      const value = metrics[name];
      if (typeof value !== "number") continue;
      const fill = el("i", {});
      fill.style.width = value * 100 + "%";
      box.append(el("span", {}, name.replaceAll("_", " ")), el("span", { class: "track", "aria-hidden": "true" }, fill), el("span", { class: "mono" }, value.toFixed(3)));
    }
    return box.childElementCount ? box : null;
  };
  const charts = (check) => {
    const box = el("div", { class: "charts" });
    const metrics = check.metrics || {};
    if (check.name === "reliability") {
      const drawn = interval(metrics);
      if (drawn) box.append(drawn);
      if (Array.isArray(metrics.decay_curve) && metrics.decay_curve.length > 1) box.append(decay(metrics.decay_curve));
    }
    if (check.name === "stability") {
      const drawn = bars(metrics);
      if (drawn) box.append(drawn);
    }
    return box.childElementCount ? box : null;
  };

  // ---- what was checked

  const check = (found) => {
    const box = el("div", { class: "check" }, sign(found.verdict), " ", el("strong", {}, found.name), ": ", long(found.line, "span"));
    const side = (word, value) => [el("span", { class: "faint" }, word), el("div", {}, long(JSON.stringify(value), "code"))];
    const list = few(found.failures || [], STEP, "reason", (failure) =>
      el("li", {}, long(failure.reason, "span"), few(failure.diffs || [], STEP, "difference", (diff) => el("div", { class: "diff" },
        el("code", {}, named(diff.path) || "/"), el("span", {}, long(diff.note, "span")),
        "expected" in diff ? side("− expected", diff.expected) : null,
        "actual" in diff ? side("+ recorded", diff.actual) : null), "div")));
    if (list[0]) box.append(el("ul", {}, list));
    const drawn = charts(found);
    if (drawn) box.append(drawn);
    return box;
  };

  // Expected calls beside recorded ones, with a line where one fits the other.
  const alignment = (row, expected) => {
    const [most, height] = [1000, 28];
    const recorded = calls(row);
    const fits = (one) => one.call !== undefined && one.call !== null;
    const taken = new Set(expected.filter(fits).map((one) => one.call));
    const column = (word, list, make) => el("div", {}, el("strong", {}, word + " (" + list.length + ")"),
      el("ol", {}, few(list, most, "call", (one, at) => {
        const [text, href] = make(one, at);
        return el("li", { title: text }, href ? el("a", { href }, text) : text);
      })));
    const rows = Math.min(most, Math.max(expected.length, recorded.length));
    const lines = svg("svg", { viewBox: "0 0 100 " + rows * height, preserveAspectRatio: "none", "aria-hidden": "true" });
    lines.style.height = rows * height + "px";
    expected.slice(0, most).forEach((one, at) => {
      if (fits(one) && one.call < most) {
        lines.append(svg("line", { x1: 0, x2: 100, y1: (at + 0.5) * height, y2: (one.call + 0.5) * height, class: "tie" }));
      }
    });
    return el("section", {}, el("h4", {}, "Expected and recorded calls"),
      el("div", { class: "align", role: "region", tabindex: "0", "aria-label": "expected against recorded calls" },
        column("expected", expected, (one) => [fits(one) ? "= " + cut(one.name, 100) + " is [" + one.call + "]" : (one.optional ? "· left out: " : "− missing: ") + cut(one.name, 100)]),
        lines,
        column("recorded", recorded, (call, at) => [(taken.has(at) ? "= " : "+ ") + "[" + at + "] " + cut(call.name, 100), "#" + row.id + "k" + at])));
  };

  // The closing message, its claims underlined and tied to the calls that back them.
  const message = (row, claims) => {
    const text = row.trace.final_response;
    const bytes = new TextEncoder().encode(text);
    const slice = (from, to) => new TextDecoder().decode(bytes.subarray(from, to));
    const box = el("p", { class: "message" });
    let at = 0;
    const put = (part) => box.append(...[long(part, "span")].flat());
    for (const claim of claims.slice(0, STEP)) {
      if (claim.start < at) continue;
      put(slice(at, claim.start));
      const call = claim.call === undefined ? null
        : el("a", { href: "#" + row.id + "k" + claim.call, "aria-label": "call " + claim.call }, "[" + claim.call + "]");
      const mark = claim.weak ? ["a heading, label, table or background clause: not judged", "open", ""]
        : claim.note ? [claim.note, claim.backed ? "" : "open", claim.backed ? call || "" : el("span", { class: "unassessable" }, "[? ", call || "", "]")]
        : claim.backed ? ["backed by call " + claim.call, "", call]
        : claim.backed === false ? ["no call backs " + named(claim.stem), "absent", el("span", { class: "fail" }, "[✗ no call]")]
        : ["whether a call backs " + named(claim.stem) + " was not recorded", "open", el("span", { class: "unassessable" }, "[? ", call, "]")];
      box.append(el("mark", { class: mark[1], title: mark[0] }, slice(claim.start, claim.end)), " ", mark[2]);
      at = claim.end;
    }
    put(slice(at, bytes.length));
    if (claims.length > STEP) box.append(el("span", { class: "faint" }, " (" + many(claims.length - STEP, "further claim") + " not underlined)"));
    return box;
  };

  // ---- the run itself

  const oneCall = (row, at) => {
    const call = calls(row)[at];
    const answer = answers(row)[at];
    const state = failed(answer);
    const mark = state === null ? el("span", { class: "faint" }, "? no answer recorded")
      : state ? el("span", { class: "fail" }, answer.error && answer.error.kind === "refused" ? "✗ refused" : "✗ failed") : el("span", { class: "pass" }, "✓");
    const body = el("div", {});
    const part = (title, ...texts) => body.append(el("h5", {}, title), ...texts.map((text) => long(text)).flat());
    const build = () => {
      if (body.childElementCount) return;
      body.append(el("p", { class: "copy" }, el("a", { href: "#" + row.id + "k" + at }, "link to this call")));
      part("Arguments", call.args === undefined ? "not recorded" : json(call.args));
      if (call.asked_args !== undefined) part("Asked for by the model", json(call.asked_args));
      if (call.caller) part("Made by", json(call.caller));
      if (!answer) return;
      const blocks = (answer.content || []).map((block) => (typeof block.text === "string" ? block.text : json(block)));
      part("Answer", ...(answer.error ? [json(answer.error)] : []), ...blocks.slice(0, STEP));
      if (blocks.length > STEP) body.append(el("p", { class: "faint" }, "and " + many(blocks.length - STEP, "more block")));
      if (answer.structured_content !== undefined) part("Structured", json(answer.structured_content));
      if (answer.fault) part("Injected fault", json(answer.fault));
    };
    const open = el("details", { ontoggle: () => open.open && build() }, el("summary", {}, "[" + at + "] ", el("strong", {}, cut((call.server ? call.server + "/" : "") + call.name, 200)), " ",
      el("code", { class: "faint" }, brief(call.args)), " ", mark,
      answer && answer.fault ? el("span", { class: "unassessable" }, " fault " + cut(answer.fault.name, 100)) : null,
      call.retry_of !== undefined ? el("span", { class: "faint" }, " repeats [" + call.retry_of + "]")
        : call.witness === "mcp" ? el("span", { class: "faint" }, " by the program itself") : null,
      answer && answer.shown ? el("span", { class: "unassessable" }, " the model was shown something else") : null,
      answer && answer.duration_ms !== undefined ? el("span", { class: "faint" }, " " + answer.duration_ms + " ms") : null), body);
    const item = el("li", { class: "call", id: row.id + "k" + at }, open);
    item.show = () => {
      build();
      open.open = true;
    };
    return item;
  };

  // Turns and calls in the order in which they happened; calls whose turn was not recorded come last.
  const timeline = (row) => {
    const turns = (row.trace.conversation && row.trace.conversation.turns) || [];
    const made = calls(row);
    const ofTurn = turns.map(() => []);
    const free = [];
    made.forEach((call, at) => (ofTurn[call.turn] || free).push(at));
    const entries = [];
    turns.forEach((turn, at) => {
      // What a tool answered stands with its call.
      if (turn.role !== "tool" || !made.length) entries.push({ turn });
      for (const call of ofTurn[at]) entries.push({ call });
    });
    for (const call of free) entries.push({ call });
    const place = new Map(entries.map((entry, at) => [entry.call, at]));
    const holder = gradual(el("ol", { class: "turns" }), STEP, (at) => {
      const { turn, call } = entries[at];
      if (!turn) return oneCall(row, call);
      return el("li", { class: "turn " + turn.role }, el("div", { class: "who" }, turn.role), turn.content ? long(turn.content, "div") : null);
    });
    holder.fill(entries.length);
    row.reach = (call) => place.has(call) && holder.reach(place.get(call));
    return el("section", {}, el("h4", {}, "Timeline"), entries.length ? holder : el("p", { class: "faint" }, "no turn and no call was recorded"));
  };

  // What a recorded program asked its model and its servers, on one clock and without bodies.
  const exchanges = (row) => {
    const program = row.trace.program;
    const passed = (program && program.timeline) || [];
    if (!passed.length) return null;
    const w = 160;
    const end = (one) => one.ms + (one.duration_ms || 0);
    const total = passed.reduce((last, one) => Math.max(last, end(one)), 1);
    const holder = gradual(el("ol", { class: "exchanges" }), STEP, (at) => {
      const one = passed[at];
      const bar = svg("svg", { viewBox: "0 0 " + w + " 10", width: w, height: 10, "aria-hidden": "true" });
      bar.append(svg("rect", { x: (one.ms * w) / total, y: 1, width: Math.max(((one.duration_ms || 0) * w) / total, 2), height: 8, class: one.side }));
      const good = one.status === "ok" || /^[123]/.test(one.status);
      return el("li", {}, bar, el("span", { class: "faint" }, one.ms + " ms"), el("strong", {}, one.side === "model" ? "model" : cut(one.server || "", 100)),
        el("code", {}, cut(one.what, 200)), el("span", { class: good ? "faint" : "fail" }, cut(one.status, 40)),
        el("span", { class: "faint" }, one.duration_ms === undefined ? "no answer" : one.duration_ms + " ms"));
    });
    holder.fill(passed.length);
    return el("section", {}, el("h4", {}, "Model and servers"), holder);
  };

  // Faults on the virtual clock: when each call was denied or kept waiting.
  const clock = (row) => {
    const marks = [];
    let now = 0;
    answers(row).forEach((answer, at) => {
      if (!answer || !answer.fault) return;
      marks.push({ at, fault: answer.fault, from: now, to: now + answer.fault.ms });
      now += answer.fault.ms;
    });
    if (!marks.length && !(row.receipts || []).length) return null;
    const box = el("section", {}, el("h4", {}, "Faults on the virtual clock"));
    const total = now;
    const drawn = marks.slice(0, 50);
    if (marks.length && total > 0) {
      const w = 360;
      const bottom = drawn.length * 20;
      const chart = svg("svg", { viewBox: "0 -4 440 " + (bottom + 24), width: 440, height: bottom + 24, role: "img",
        "aria-label": drawn.map((one) => "call " + one.at + " " + one.fault.effect + " from " + one.from + " to " + one.to + " ms").join("; ") });
      drawn.forEach((one, line) => {
        chart.append(svg("rect", { x: (one.from * w) / total, y: line * 20, width: Math.max((one.fault.ms * w) / total, 2), height: 14,
          class: one.fault.effect === "delay" ? "delay" : "hit" }));
        chart.append(svg("text", { x: w + 6, y: line * 20 + 11 }, "[" + one.at + "] " + one.fault.effect));
      });
      chart.append(svg("text", { x: 0, y: bottom + 14 }, "0 ms"), svg("text", { x: w, y: bottom + 14, "text-anchor": "end" }, total + " ms"));
      if (marks.length > drawn.length) box.append(el("p", { class: "faint" }, "the first " + drawn.length + " of " + marks.length + " calls with a fault"));
      box.append(chart);
    }
    if ((row.receipts || []).length) {
      const listed = (list) => list.slice(0, 50).join(", ") + (list.length > 50 ? " and " + (list.length - 50) + " more" : "") || "none";
      const recovery = (recovered) => typeof recovered === "string" ? recovered : "by call " + Object.values(recovered)[0];
      box.append(el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "receipts of faults" }, el("table", {},
        el("tr", {}, ...["fault", "kind", "injected into", "denied", "virtual ms", "recovered"].map((name) => el("th", { scope: "col" }, name))),
        ...row.receipts.map((one) => el("tr", {}, ...[cut(one.fault, 100), one.kind, listed(one.injected), listed(one.met),
          String(one.ms), recovery(one.recovered)].map((text) => el("td", {}, text)))))));
    }
    return box;
  };

  const runBody = (row) => {
    const box = el("div", { class: "body" });
    if (row.error) box.append(el("div", { class: row.verdict }, long((row.error.code ? `error[${row.error.code}]: ` : "") + row.error.message, "p")), row.error.hint ? el("p", {}, "hint: ", long(row.error.hint, "span")) : "");
    if (row.mark) {
      const line = [...row.mark.text];
      const end = row.mark.start + Math.max(row.mark.length, 1);
      box.append(el("p", { class: "faint mono" }, row.suite.file + ":" + row.mark.line + ":" + row.mark.column),
        el("pre", { class: "source" }, line.slice(0, row.mark.start).join(""), el("mark", {}, line.slice(row.mark.start, end).join("")), line.slice(end).join("")));
    }
    for (const found of row.checks || []) {
      box.append(check(found));
    }
    const of = (kind) => (row.checks || []).map((found) => found.picture && found.picture[kind]).find(Boolean);
    if (row.trace) {
      if (typeof row.trace.final_response === "string") {
        box.append(el("h4", {}, "Closing message"), ...[of("claims") ? message(row, of("claims")) : long(row.trace.final_response, "p")].flat());
      }
      if (row.advisory) box.append(el("div", { class: "faint" }, "Advisory, from a model, not part of the verdict: ", long(row.advisory, "span")));
      if (of("calls")) box.append(alignment(row, of("calls")));
      const faults = clock(row);
      if (faults) box.append(faults);
      box.append(timeline(row));
      const passed = exchanges(row);
      if (passed) box.append(passed);
    }
    return box;
  };

  const runItem = (row) => {
    const reason = (row.checks || []).flatMap((found) => found.failures || []).map((failure) => failure.reason)[0] || (row.error && row.error.message);
    const summary = el("summary", {}, sign(row.verdict), " ", el("strong", {}, named(row.name)),
      row.origin || row.edited ? el("span", { class: "faint" }, " " + [row.origin, row.edited && "edited"].filter(Boolean).join(", ")) : null, " ",
      row.trace ? el("span", { class: "faint" }, row.trace.tool_calls ? many(calls(row).length, "call") : "calls not recorded") : null,
      row.cost === undefined ? null : el("span", { class: "faint" }, ", cost " + row.cost.toFixed(4)),
      reason ? el("span", { class: "reason" }, cut(reason, 160)) : null);
    const build = () => {
      if (item.childElementCount < 2) item.append(el("p", { class: "copy" }, el("a", { href: "#" + row.id }, "link to this run")), runBody(row));
    };
    const item = el("details", { class: "run", id: row.id, ontoggle: () => item.open && build() }, summary);
    // What is opened by a link or for paper must have its size at once.
    row.show = () => {
      build();
      item.open = true;
    };
    return item;
  };
  // A row is built once: what was opened stays open when filters change.
  const itemOf = (row) => (row.item = row.item || runItem(row));

  const cellBox = (cell) => {
    const box = el("article", { class: "cell", id: cell.id, "aria-label": named(cell.test) + (cell.model ? ", " + named(cell.model) : "") },
      el("header", {}, sign(worst(cell)), el("h3", {}, el("a", { href: "#" + cell.id }, named(cell.test))), el("span", { class: "faint" }, named(cell.model)),
        cell.rows[0].line ? el("span", { class: "faint mono" }, cell.suite.file + ":" + cell.rows[0].line) : null));
    for (const row of cell.over) {
      const trouble = row.error ? el("p", { class: "error" }, "! " + (row.gate || named(row.name)) + ": ", long(row.error.message, "span")) : null;
      row.item = el("div", { id: row.id, tabindex: "-1" }, (row.checks || []).map(check), trouble);
      box.append(row.item);
    }
    const drawn = paths(cell);
    if (drawn) box.append(drawn);
    cell.holder = gradual(el("div", {}), ROWS, (at) => itemOf(cell.seen[at]));
    box.append(cell.holder);
    cell.box = box;
    return box;
  };
  // Brings a cell up to the filters.
  const refreshed = (cell) => {
    const box = cell.box || cellBox(cell);
    for (const row of cell.over) row.item.hidden = !fits(row);
    cell.holder.fill(cell.seen.length);
    return box;
  };

  // ---- the grid

  const grid = (suite) => {
    const models = [...new Set(suite.cells.map((cell) => cell.model))];
    const tests = new Map();
    for (const cell of suite.cells) {
      if (!tests.has(cell.test)) tests.set(cell.test, new Map());
      const line = tests.get(cell.test);
      line.set(cell.model, (line.get(cell.model) || []).concat(cell.rows));
    }
    const lines = badFirst([...tests], ([, line]) => [...line.values()].flat().some(isBad));
    const body = el("tbody", {});
    const holder = gradual(body, STEP, (at) => el("tr", {}, el("th", { scope: "row" }, named(lines[at][0])), models.map((model) => {
      const own = lines[at][1].get(model);
      return own ? el("td", { class: "squares" }, few(own, ROWS, "result", (row) => [link(row), " "], "span")) : el("td", { class: "faint" }, "· not run");
    })));
    const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "test"), models.map((model) => el("th", { scope: "col" }, named(model) || "runs")))));
    body.replaceWith(table);
    table.append(body);
    holder.fill(lines.length);
    for (const [key, value] of [["class", "scroll"], ["tabindex", "0"], ["role", "region"]]) holder.setAttribute(key, value);
    holder.setAttribute("aria-label", shown("tests and models of " + suite.file));
    return holder;
  };

  // ---- search and filters

  const state = { verdict: new Set(), gate: "", tool: "", text: "" };
  const texts = new Map();
  // What a reader sees of a row, and not the keys it is kept under.
  const textOf = (row) => {
    if (!texts.has(row)) {
      const trace = row.trace || {};
      const checks = (row.checks || []).map((found) => [found.name, found.line, (found.failures || []).map((failure) => failure.reason)]);
      const answer = (one) => one && [(one.content || []).map((block) => (typeof block.text === "string" ? block.text : JSON.stringify(block))),
        one.error && one.error.message, one.fault && one.fault.name, JSON.stringify(one.structured_content)];
      const parts = [row.name, checks, row.error && row.error.message, trace.final_response, calls(row).map((call) => [call.name, JSON.stringify(call.args)]),
        answers(row).map(answer), ((trace.conversation || {}).turns || []).map((turn) => turn.content)];
      texts.set(row, parts.flat(4).filter(Boolean).join("\n").toLowerCase());
    }
    return texts.get(row);
  };
  const fits = (row) =>
    (!state.verdict.size || state.verdict.has(row.verdict)) &&
    (!state.gate || (row.checks || []).some((found) => found.name === state.gate)) &&
    (!state.tool || calls(row).some((call) => call.name === state.tool)) &&
    (!state.text || textOf(row).includes(state.text));
  const count = el("output", { "aria-live": "polite", class: "faint" });
  const main = document.getElementById("main");
  const apply = () => {
    let left = 0;
    for (const suite of suites) {
      suite.seen = suite.shown.filter((cell) => {
        cell.seen = cell.shown.filter(fits);
        const some = cell.seen.length + cell.over.filter(fits).length;
        left += some;
        return some;
      });
      suite.holder.fill(suite.seen.length);
    }
    count.textContent = left === rows.length ? many(rows.length, "result") : left + " of " + many(rows.length, "result");
  };
  let wait = 0;
  const soon = () => {
    clearTimeout(wait);
    wait = setTimeout(apply, 120);
  };
  const resets = [];
  const choice = (label, words, key) => {
    const select = el("select", { onchange: () => { state[key] = select.value; apply(); } },
      el("option", { value: "" }, "any"), words.map((word) => el("option", { value: word }, cut(word, 60))));
    resets.push(() => { select.value = state[key] = ""; });
    return el("label", {}, label + " ", select);
  };
  const present = (words) => [...new Set(words)].sort();
  const search = el("input", { type: "search", placeholder: "search names, reasons, calls, answers", "aria-label": "search", oninput: () => {
    state.text = search.value.toLowerCase();
    soon();
  } });
  resets.push(() => { search.value = state.text = ""; });
  const chips = Object.keys(SIGNS).filter((verdict) => rows.some((row) => row.verdict === verdict)).map((verdict) => {
    const button = el("button", { type: "button", "aria-pressed": "false", onclick: () => {
      if (state.verdict.has(verdict)) state.verdict.delete(verdict); else state.verdict.add(verdict);
      button.setAttribute("aria-pressed", String(state.verdict.has(verdict)));
      apply();
    } }, el("span", { class: verdict }, SIGNS[verdict] + " " + rows.filter((row) => row.verdict === verdict).length + " " + verdict));
    resets.push(() => {
      state.verdict.delete(verdict);
      button.setAttribute("aria-pressed", "false");
    });
    return button;
  });
  const bar = el("div", { class: "bar", role: "search" }, ...chips, search,
    choice("gate", present(rows.flatMap((row) => (row.checks || []).map((found) => found.name))), "gate"),
    choice("tool", present(rows.flatMap((row) => calls(row).map((call) => call.name))), "tool"), count);

  // ---- theme

  const themes = ["auto", "light", "dark"];
  const theme = el("button", { type: "button", onclick: () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme || "auto") + 1) % themes.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    theme.textContent = "theme: " + next;
  } }, "theme: auto");
  document.getElementById("tools").append(theme);

  // ---- put together

  main.append(bar);
  for (const note of data.notes) main.append(el("p", { class: note.stopped ? "error" : "faint" }, note.stopped ? "! " : "note: ", long(note.text, "span")));
  if (data.mutation) {
    const found = data.mutation;
    const table = (head, lines) => el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ...head.map((word) => el("th", { scope: "col" }, word)))),
      el("tbody", {}, ...lines.map(([name, ...counts]) =>
        el("tr", {}, el("th", { scope: "row" }, name), ...counts.map((count) => el("td", {}, String(count))))))));
    const group = (at) => {
      const one = found.groups[at];
      return el("details", { class: "run", open: at < 5 }, el("summary", {}, el("strong", {}, named(one.trace)), " ", one.operator + ": " + named(one.change)),
        el("div", { class: "body" }, el("pre", {}, one.diff.join("\n")),
          one.also ? el("p", {}, "also missed: " + one.also) : null,
          one.fix ? [el("p", {}, "This check catches it and passes every recorded run:"), el("pre", {}, one.fix)] : el("p", {}, "no proposal: " + one.why)));
    };
    const missed = gradual(el("div", {}), ROWS, group);
    main.append(el("section", { "aria-label": "mutants" }, el("h2", {}, "Mutants"),
      el("p", {}, el("span", { class: "pass" }, found.caught + " caught"), ", ", el("span", { class: found.missed ? "fail" : "pass" }, found.missed + " missed"), ", " + found.equivalent + " equivalent"),
      el("div", { class: "charts" }, table(["operator", "caught", "missed", "equivalent"], found.operators), table(["check", "caught", "alone"], found.checks)),
      found.groups.length ? [el("h4", {}, "missed"), missed] : null));
    missed.fill(found.groups.length);
  }
  for (const suite of suites) {
    suite.holder = gradual(el("div", {}), CELLS, (at) => refreshed(suite.seen[at]));
    const refused = suite.refused ? [el("p", { class: "error" }, "! this file could not be used"), long(suite.refused)].flat() : null;
    main.append(el("section", { "aria-label": suite.file }, el("h2", {}, suite.file), refused, suite.cells.length ? grid(suite) : null, suite.holder));
  }
  apply();

  // A link may lead to what is not built yet: s0c2 is a test on a model, s0r3 a run, s0r3k5 its call 5.
  let here = null;
  const follow = () => {
    const [, id, call] = /^#(s\d+[cr]\d+)(?:k(\d+))?$/.exec(location.hash) || [];
    const found = byId.get(id);
    if (!found) return false;
    const cell = found.cell || found;
    // Whoever follows a link wants to see where it leads, whatever was filtered before.
    if (!(found.cell ? fits(found) : cell.suite.seen.includes(cell))) {
      resets.forEach((reset) => reset());
      apply();
    }
    cell.suite.holder.reach(cell.suite.seen.indexOf(cell));
    let target = cell.box;
    if (found.cell) {
      if (cell.seen.includes(found)) cell.holder.reach(cell.seen.indexOf(found));
      target = found.item;
      if (found.show) found.show();
      if (call !== undefined && found.reach) found.reach(Number(call));
      const made = call === undefined ? null : document.getElementById(id + "k" + Number(call));
      if (made) {
        made.show();
        target = made;
      }
    }
    if (here) here.classList.remove("here");
    here = target;
    here.classList.add("here");
    here.scrollIntoView();
    (here.querySelector(found.cell ? "summary" : "a") || here).focus({ preventScroll: true });
    return true;
  };
  addEventListener("hashchange", follow);
  // The browser itself looks for the place once more when all is loaded, and takes the focus away.
  addEventListener("load", follow);
  // A link to where the page already is changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.hash && link.hash === location.hash) follow();
  });
  // A printed page has no buttons: lists are longer, and failed checks are open. They are closed again after printing.
  let opened = [];
  addEventListener("beforeprint", () => {
    for (const suite of suites) {
      suite.holder.growTo(STEP);
      for (const cell of suite.seen) if (cell.box) cell.holder.growTo(STEP);
    }
    opened = rows.filter((row) => row.show && isBad(row) && row.item.isConnected && !row.item.open).slice(0, STEP);
    opened.forEach((row) => row.show());
  });
  addEventListener("afterprint", () => opened.forEach((row) => { row.item.open = false; }));

  // Without a link that says otherwise, what failed is open.
  if (!follow()) {
    const built = suites.flatMap((suite) => suite.seen).flatMap((cell) => cell.seen);
    built.filter((row) => row.show && isBad(row)).slice(0, OPEN).forEach((row) => row.show());
  }
})();
