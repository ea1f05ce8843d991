"use strict";
// Everything that a trace says is put into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SIGNS = { pass: "✓", fail: "✗", unassessable: "?", error: "!", absorbed: "~", skipped: "-" };
  const LONG = 2000;
  const STEP = 200;

  // Characters that would hide or turn around what stands beside them are written out.
  const shown = (text) =>
    text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (c) =>
      "\\u{" + c.charCodeAt(0).toString(16) + "}");

  const el = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined) made.append(typeof child === "string" ? shown(child) : child);
    }
    return made;
  };
  const svg = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const sign = (verdict) => el("span", { class: verdict }, SIGNS[verdict] + " " + verdict);

  // A text that may be very long: its beginning, and the rest when it is asked for.
  const long = (text, tag = "pre") => {
    if (text.length <= LONG) return el(tag, {}, text);
    const holder = el(tag, {}, text.slice(0, LONG) + " …");
    const more = el("button", { type: "button", onclick: () => {
      holder.textContent = shown(text);
      more.remove();
    } }, "show all " + text.length + " characters");
    return el("div", {}, holder, more);
  };
  const json = (value) => JSON.stringify(value, null, 2);
  const brief = (value) => {
    const text = JSON.stringify(value);
    return text === undefined ? "" : text.length > 90 ? text.slice(0, 90) + "…" : text;
  };

  // ---- the rows, as cells of one test and one model

  const cells = [];
  data.suites.forEach((suite, s) => {
    let last = null;
    (suite.rows || []).forEach((row, r) => {
      row.id = "s" + s + "r" + r;
      row.suite = suite;
      if (!last || last.test !== row.test || last.model !== row.model || last.suite !== suite) {
        last = { id: "s" + s + "c" + r, suite, test: row.test, model: row.model, rows: [], runs: [], over: [] };
        cells.push(last);
      }
      last.rows.push(row);
      (row.family === "GATE" ? last.over : last.runs).push(row);
      row.cell = last;
    });
  });
  const rows = cells.flatMap((cell) => cell.rows);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const calls = (row) => (row.trace && row.trace.tool_calls) || [];
  const answers = (row) => (row.trace && row.trace.tool_results) || [];
  const failed = (answer) =>
    answer ? Boolean(answer.error || (answer.fault && answer.fault.effect !== "delay") || answer.is_error) : null;
  const worst = (cell) => {
    const order = ["error", "fail", "unassessable", "skipped", "pass", "absorbed"];
    return order.find((verdict) => cell.rows.some((row) => row.verdict === verdict));
  };

  // ---- paths of the runs of a cell

  // A tree of tool names; a chain without a branch is one line.
  const tree = (cell) => {
    const root = { next: new Map(), count: 0, ends: [] };
    for (const row of cell.runs) {
      if (row.family !== "RUN" || !row.trace || !row.trace.tool_calls) continue;
      let node = root;
      node.count += 1;
      calls(row).forEach((call, at) => {
        const name = call.name + (failed(answers(row)[at]) ? " (failed)" : "");
        if (!node.next.has(name)) node.next.set(name, { next: new Map(), count: 0, ends: [] });
        node = node.next.get(name);
        node.count += 1;
      });
      node.ends.push(row);
    }
    return root;
  };
  const branch = (node, all) => {
    const list = el("ul", {});
    for (const [first, child] of [...node.next].sort((a, b) => b[1].count - a[1].count)) {
      const names = [first];
      let at = child;
      while (at.next.size === 1 && at.ends.length === 0) {
        const [[name, only]] = at.next;
        names.push(name);
        at = only;
      }
      const line = el("li", {}, el("strong", {}, at.count + "/" + all + " "), names.join(" → "), " ", ends(at));
      if (at.next.size) line.append(branch(at, all));
      list.append(line);
    }
    return list;
  };
  const ends = (node) => {
    if (!node.ends.length) return null;
    const few = node.ends.slice(0, 20).map((row) => [" ", link(row)]);
    const rest = node.ends.length > 20 ? " and " + (node.ends.length - 20) + " more" : "";
    return el("span", { class: "faint" }, "end:", ...few.flat(), rest);
  };
  const link = (row) =>
    el("a", { href: "#" + row.id, class: row.verdict, "aria-label": row.name + ": " + row.verdict },
      SIGNS[row.verdict] + (row.run ? "#" + row.run : ""));
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
    const words = curve.map((value, at) => at + 1 + ": " + percent(value)).join(", ");
    const chart = svg("svg", { viewBox: "-34 -8 270 124", width: 270, height: 124, role: "img", "aria-label": "runs in a row that all pass, in percent: " + words });
    for (const level of [0, 50, 100]) {
      chart.append(svg("line", { x1: 0, x2: w, y1: y(level), y2: y(level), class: "axis" }));
      chart.append(svg("text", { x: -6, y: y(level) + 4, "text-anchor": "end" }, String(level)));
    }
    chart.append(svg("polyline", { points: curve.map((value, at) => x(at) + "," + y(value)).join(" "), class: "curve" }));
    curve.forEach((value, at) => chart.append(svg("circle", { cx: x(at), cy: y(value), r: 2.5, class: "dot" })));
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
  const bars = (metrics) => {
    const box = el("div", { class: "bars" });
    for (const [name, value] of Object.entries(metrics)) {
      if (typeof value !== "number" || value < 0 || value > 1) continue;
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
    const box = el("div", { class: "check" }, sign(found.verdict), " ", el("strong", {}, found.name), ": ", found.line);
    const list = el("ul", {});
    for (const failure of found.failures || []) {
      const item = el("li", {}, failure.reason);
      for (const diff of failure.diffs || []) {
        item.append(el("div", { class: "diff" },
          el("code", {}, diff.path || "/"), el("span", {}, diff.note),
          "expected" in diff ? [el("span", { class: "faint" }, "− expected"), el("code", {}, brief(diff.expected))] : [],
          "actual" in diff ? [el("span", { class: "faint" }, "+ recorded"), el("code", {}, brief(diff.actual))] : []));
      }
      list.append(item);
    }
    if (list.childElementCount) box.append(list);
    const drawn = charts(found);
    if (drawn) box.append(drawn);
    return box;
  };

  // Expected calls beside recorded ones, with a line where one fits the other.
  const alignment = (row, expected) => {
    const recorded = calls(row).slice(0, STEP);
    const taken = new Set(expected.map((one) => one.call));
    const grid = el("div", { class: "align", role: "group", "aria-label": "expected against recorded calls" },
      el("strong", {}, "expected"), el("span", {}), el("strong", {}, "recorded"));
    const height = 28;
    const many = Math.max(expected.length, recorded.length);
    const lines = svg("svg", { viewBox: "0 0 100 " + many * height, preserveAspectRatio: "none", "aria-hidden": "true" });
    lines.style.height = many * height + "px";
    grid.append(lines);
    const cell = (column, at, text) => {
      const made = el("div", { title: text }, text);
      made.style.gridColumn = column;
      made.style.gridRow = at + 2;
      grid.append(made);
    };
    expected.forEach((one, at) => {
      const fits = one.call !== null && one.call !== undefined;
      const word = fits ? "= " : one.optional ? "· " : "− ";
      cell(1, at, word + one.name + (fits ? " is [" + one.call + "]" : one.optional ? " (optional, not made)" : " (missing)"));
      if (fits && one.call < recorded.length) {
        lines.append(svg("line", { x1: 0, x2: 100, y1: (at + 0.5) * height, y2: (one.call + 0.5) * height, class: "tie" }));
      }
    });
    recorded.forEach((call, at) => cell(3, at, (taken.has(at) ? "= " : "+ ") + "[" + at + "] " + call.name));
    return el("section", {}, el("h4", {}, "Expected and recorded calls"), grid);
  };

  // The closing message, its claims underlined and tied to the calls that back them.
  const message = (row, claims) => {
    const text = row.trace.final_response;
    const bytes = new TextEncoder().encode(text);
    const slice = (from, to) => new TextDecoder().decode(bytes.subarray(from, to));
    const box = el("p", { class: "said" });
    let at = 0;
    for (const claim of claims) {
      if (claim.start < at) continue;
      box.append(shown(slice(at, claim.start)));
      const call = claim.call === undefined ? null : el("a", { href: "#" + row.id + "k" + claim.call }, "[" + claim.call + "]");
      const told = claim.backed ? ["backed by call " + claim.call, "", call]
        : claim.backed === false ? ["no call backs " + claim.stem, "absent", el("span", { class: "fail" }, "[✗ no call]")]
        : ["whether a call backs " + claim.stem + " was not recorded", "open", el("span", { class: "unassessable" }, "[? ", call, "]")];
      box.append(el("mark", { class: told[1], title: told[0] }, slice(claim.start, claim.end)), " ", told[2]);
      at = claim.end;
    }
    box.append(shown(slice(at, bytes.length)));
    return box;
  };

  // ---- the run itself

  const oneCall = (row, at) => {
    const call = calls(row)[at];
    const answer = answers(row)[at];
    const state = failed(answer);
    const mark = state === null ? el("span", { class: "faint" }, "? no answer recorded")
      : state ? el("span", { class: "fail" }, "✗ failed") : el("span", { class: "pass" }, "✓");
    const body = el("div", {});
    const open = el("details", { ontoggle: () => {
      if (!open.open || body.childElementCount) return;
      body.append(el("h4", {}, "Arguments"), long(call.args === undefined ? "not recorded" : json(call.args)));
      if (call.caller) body.append(el("h4", {}, "Made by"), long(json(call.caller)));
      if (answer) {
        body.append(el("h4", {}, "Answer"));
        if (answer.error) body.append(long(json(answer.error)));
        for (const block of answer.content || []) body.append(long(typeof block.text === "string" ? block.text : json(block)));
        if (answer.structured_content !== undefined) body.append(el("h4", {}, "Structured"), long(json(answer.structured_content)));
        if (answer.fault) body.append(el("h4", {}, "Injected fault"), long(json(answer.fault)));
      }
    } }, el("summary", {}, "[" + at + "] ", el("strong", {}, (call.server ? call.server + "/" : "") + call.name), " ",
      el("code", { class: "faint" }, brief(call.args)), " ", mark,
      answer && answer.fault ? el("span", { class: "unassessable" }, " fault " + answer.fault.name) : null,
      answer && answer.duration_ms !== undefined ? el("span", { class: "faint" }, " " + answer.duration_ms + " ms") : null), body);
    return el("div", { class: "call", id: row.id + "k" + at }, open);
  };

  // A long list is built as far as it is looked at.
  const gradual = (list, count, make) => {
    let next = 0;
    const more = el("button", { type: "button", onclick: () => grow() });
    const grow = (to = next + STEP) => {
      while (next < Math.min(to, count)) list.append(make(next++));
      more.hidden = next >= count;
      more.textContent = "show more (" + (count - next) + " left)";
    };
    grow();
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && !more.hidden && grow());
    watch.observe(more);
    list.grow = grow;
    return el("div", {}, list, more);
  };

  const timeline = (row) => {
    const turns = row.trace.conversation && row.trace.conversation.turns;
    const list = el("ol", { class: "turns" });
    const made = calls(row);
    const ofTurn = new Map();
    const free = [];
    made.forEach((call, at) => {
      if (turns && call.turn !== undefined && call.turn !== null) {
        if (!ofTurn.has(call.turn)) ofTurn.set(call.turn, []);
        ofTurn.get(call.turn).push(at);
      } else free.push(at);
    });
    const entries = [];
    (turns || []).forEach((turn, at) => {
      const own = ofTurn.get(at) || [];
      // What a tool answered stands with its call.
      if (turn.role === "tool" && made.length) return;
      entries.push({ turn, own: own.slice(0, STEP) });
      for (let from = STEP; from < own.length; from += STEP) entries.push({ turn: null, own: own.slice(from, from + STEP) });
    });
    for (let from = 0; from < free.length; from += STEP) entries.push({ turn: null, own: free.slice(from, from + STEP) });
    const make = (at) => {
      const entry = entries[at];
      const item = el("li", { class: entry.turn ? entry.turn.role : "assistant" });
      if (entry.turn) {
        item.append(el("div", { class: "who" }, entry.turn.role));
        if (entry.turn.content) item.append(long(entry.turn.content, "div"));
      }
      entry.own.forEach((call) => item.append(oneCall(row, call)));
      return item;
    };
    const holder = gradual(list, entries.length, make);
    list.reach = (call) => {
      const at = entries.findIndex((entry) => entry.own.includes(call));
      if (at >= 0) list.grow(at + 1);
    };
    row.list = list;
    return el("section", {}, el("h4", {}, "Timeline"), holder);
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
    if (marks.length && now > 0) {
      const w = 360;
      const chart = svg("svg", { viewBox: "0 -4 420 " + (marks.length * 20 + 24), width: 420, height: marks.length * 20 + 24, role: "img",
        "aria-label": marks.map((one) => "call " + one.at + " " + one.fault.effect + " from " + one.from + " to " + one.to + " ms").join("; ") });
      marks.forEach((one, line) => {
        chart.append(svg("rect", { x: (one.from * w) / now, y: line * 20, width: Math.max((one.fault.ms * w) / now, 2), height: 14,
          class: one.fault.effect === "delay" ? "delay" : "hit" }));
        chart.append(svg("text", { x: w + 6, y: line * 20 + 11 }, "[" + one.at + "] " + one.fault.effect));
      });
      chart.append(svg("text", { x: 0, y: marks.length * 20 + 14 }, "0 ms"), svg("text", { x: w, y: marks.length * 20 + 14, "text-anchor": "end" }, now + " ms"));
      box.append(chart);
    }
    if ((row.receipts || []).length) {
      const told = (recovered) => typeof recovered === "string" ? recovered : "by call " + Object.values(recovered)[0];
      box.append(el("div", { class: "scroll" }, el("table", {},
        el("tr", {}, ...["fault", "kind", "injected into", "denied", "virtual ms", "recovered"].map((name) => el("th", { scope: "col" }, name))),
        ...row.receipts.map((one) => el("tr", {}, ...[one.fault, one.kind, one.injected.join(", ") || "none", one.met.join(", ") || "none",
          String(one.ms), told(one.recovered)].map((text) => el("td", {}, text)))))));
    }
    return box;
  };

  const runBody = (row) => {
    const box = el("div", { class: "body" });
    if (row.error) box.append(el("p", { class: "error" }, row.error.message), row.error.hint ? el("p", {}, "hint: " + row.error.hint) : "");
    if (row.mark) {
      const caret = " ".repeat(row.mark.start) + "^".repeat(Math.max(row.mark.length, 1));
      box.append(el("p", { class: "faint mono" }, row.suite.file + ":" + row.mark.line + ":" + row.mark.column),
        el("pre", { class: "source" }, row.mark.text + "\n" + caret));
    }
    for (const found of row.checks || []) {
      box.append(check(found));
    }
    const of = (kind) => (row.checks || []).map((found) => found.picture && found.picture[kind]).find(Boolean);
    if (row.trace) {
      if (typeof row.trace.final_response === "string") {
        box.append(el("h4", {}, "Closing message"), of("claims") ? message(row, of("claims")) : long(row.trace.final_response, "p"));
      }
      if (row.advisory) box.append(el("p", { class: "faint" }, "What a model said of it, which decides nothing: " + row.advisory));
      if (of("calls")) box.append(alignment(row, of("calls")));
      const faults = clock(row);
      if (faults) box.append(faults);
      box.append(timeline(row));
    }
    return box;
  };

  const runItem = (row) => {
    const reason = (row.checks || []).flatMap((found) => found.failures || []).map((failure) => failure.reason)[0] || (row.error && row.error.message);
    const summary = el("summary", {}, sign(row.verdict), " ", el("strong", {}, row.name),
      row.origin ? el("span", { class: "faint" }, " " + row.origin) : null, " ",
      row.trace ? el("span", { class: "faint" }, calls(row).length === 1 ? "1 call" : calls(row).length + " calls") : null,
      reason ? el("span", { class: "reason" }, reason.length > 160 ? reason.slice(0, 160) + "…" : reason) : null);
    const item = el("details", { class: "run", id: row.id, ontoggle: () => item.open && row.build() }, summary);
    row.build = () => {
      if (item.childElementCount < 2) item.append(el("p", { class: "copy" }, el("a", { href: "#" + row.id }, "link to this run")), runBody(row));
    };
    row.item = item;
    return item;
  };

  const cellBox = (cell) => {
    const box = el("article", { class: "cell", id: cell.id, "aria-label": cell.test + ", " + cell.model },
      el("header", {}, sign(worst(cell)), el("h3", {}, el("a", { href: "#" + cell.id }, cell.test)), el("span", { class: "faint" }, cell.model),
        cell.rows[0].line ? el("span", { class: "faint mono" }, cell.suite.file + ":" + cell.rows[0].line) : null));
    for (const row of cell.over) {
      row.item = el("div", { id: row.id }, ...(row.checks || []).map(check));
      box.append(row.item);
    }
    const drawn = paths(cell);
    if (drawn) box.append(drawn);
    const list = el("div", {});
    box.append(gradual(list, cell.runs.length, (at) => runItem(cell.runs[at])));
    cell.list = list;
    cell.box = box;
    return box;
  };

  // ---- the grid

  const grid = (suite) => {
    const own = cells.filter((cell) => cell.suite === suite);
    const tests = [...new Set(own.map((cell) => cell.test))];
    const models = [...new Set(own.map((cell) => cell.model))];
    const at = new Map(own.map((cell) => [cell.test + "\u0000" + cell.model, cell]));
    const head = el("tr", {}, el("th", { scope: "col" }, "test"), ...models.map((model) => el("th", { scope: "col" }, model || "runs")));
    const body = tests.map((test) => el("tr", {}, el("th", { scope: "row" }, test), ...models.map((model) => {
      const cell = at.get(test + "\u0000" + model);
      if (!cell) return el("td", { class: "faint" }, "·");
      const squares = cell.rows.slice(0, 50).map(link);
      const rest = cell.rows.length > 50 ? el("span", { class: "faint" }, " +" + (cell.rows.length - 50)) : null;
      return el("td", { class: "squares" }, ...squares, rest);
    })));
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "tests and models of " + suite.file },
      el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
  };

  // ---- search and filters

  const state = { verdict: new Set(), gate: "", tool: "", text: "" };
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, JSON.stringify([row.name, row.checks, row.error, row.trace]).toLowerCase());
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
    for (const cell of cells) {
      const some = cell.rows.filter(fits);
      left += some.length;
      cell.box.hidden = some.length === 0;
      if (some.length && some.length < cell.rows.length) cell.list.grow(cell.runs.length);
      for (const row of cell.rows) if (row.item) row.item.hidden = !fits(row);
    }
    count.textContent = left === rows.length ? rows.length + " rows" : left + " of " + rows.length + " rows";
  };
  let wait = 0;
  const soon = () => {
    clearTimeout(wait);
    wait = setTimeout(apply, 120);
  };
  const choice = (label, words, key) => {
    const select = el("select", { onchange: () => { state[key] = select.value; apply(); } },
      el("option", { value: "" }, "any"), ...words.map((word) => el("option", { value: word }, word)));
    return el("label", {}, label + " ", select);
  };
  const present = (words) => [...new Set(words)].sort();
  const search = el("input", { type: "search", placeholder: "search names, reasons, calls, answers", "aria-label": "search", oninput: () => {
    state.text = JSON.stringify(search.value.toLowerCase()).slice(1, -1);
    soon();
  } });
  const chips = Object.keys(SIGNS).filter((verdict) => rows.some((row) => row.verdict === verdict)).map((verdict) => {
    const button = el("button", { type: "button", "aria-pressed": "false", onclick: () => {
      if (state.verdict.has(verdict)) state.verdict.delete(verdict); else state.verdict.add(verdict);
      button.setAttribute("aria-pressed", String(state.verdict.has(verdict)));
      apply();
    } }, el("span", { class: verdict }, SIGNS[verdict] + " " + rows.filter((row) => row.verdict === verdict).length + " " + verdict));
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
  for (const suite of data.suites) {
    const section = el("section", { "aria-label": suite.file }, el("h2", {}, suite.file));
    if (suite.refused) section.append(el("p", { class: "error" }, "! this file could not be used"), el("pre", {}, suite.refused));
    if ((suite.rows || []).length) section.append(grid(suite));
    for (const cell of cells) if (cell.suite === suite) section.append(cellBox(cell));
    main.append(section);
  }
  for (const note of data.notes) main.append(el("p", { class: "faint" }, "note: " + note.text));
  apply();

  // A link may lead to what is not built yet: s0r3 is a run, s0r3k5 its call 5.
  const follow = () => {
    const found = /^#(s\d+r\d+)(?:k(\d+))?$/.exec(location.hash);
    const row = found && byId.get(found[1]);
    if (!row) return;
    row.cell.list.grow(row.cell.runs.indexOf(row) + 1);
    let target = row.item;
    if (row.build) {
      row.build();
      row.item.open = true;
      if (found[2] !== undefined) {
        if (row.list) row.list.reach(Number(found[2]));
        target = document.getElementById(location.hash.slice(1)) || target;
        const open = target.querySelector("details");
        if (target !== row.item && open) open.open = true;
      }
    }
    target.hidden = false;
    row.cell.box.hidden = false;
    target.scrollIntoView();
    const focus = target.querySelector("summary");
    if (focus) focus.focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  // On paper what failed is open.
  addEventListener("beforeprint", () => {
    for (const row of rows) {
      if (row.item && row.build && !["pass", "absorbed", "skipped"].includes(row.verdict)) row.item.open = true;
    }
  });
  // What failed first is open.
  const first = rows.find((row) => row.build && ["fail", "error", "unassessable"].includes(row.verdict));
  if (first) first.item.open = true;
  follow();
})();
