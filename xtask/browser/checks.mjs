// The checks by name. Each gets `open`, which opens a page, and may return a figure to print.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const EVERY = ["quickstart", "reliability", "fault-injection-recovery", "narrative-divergence", "model-matrix", "agent-stability", "score", "hostile"];
const PHONE = { width: 390, height: 844 };

const openRuns = (page) => page.locator("details.run[open]").evaluateAll((list) => list.map((one) => one.id));
/** Names of the visible rows. */
const seenRows = (page) => page.locator("details.run:visible > summary > strong").allTextContents();
const isInView = (locator) => locator.evaluate((one) => {
  const box = one.getBoundingClientRect();
  return box.bottom > 0 && box.top < innerHeight && box.height > 0;
});
const count = (page, selector) => page.locator(selector).count();
const rowsLeft = (page) => page.locator(".bar output").textContent();
/** Waits for the search, which starts when typing stops. */
const untilLeft = (page, text) => page.waitForFunction((text) => document.querySelector(".bar output").textContent === text, text);

async function openEverything(page) {
  await page.evaluate(async () => {
    // Details are rendered when they are opened, and may contain others.
    for (let round = 0; round < 6; round++) {
      document.querySelectorAll("details:not([open])").forEach((one) => { one.open = true; });
      await new Promise((done) => setTimeout(done, 50));
    }
  });
}

async function tabThrough(page, most) {
  const reached = [];
  for (let at = 0; at < most; at++) {
    await page.keyboard.press("Tab");
    const one = await page.evaluate(() => {
      const active = document.activeElement;
      if (!active || active === document.body) return null;
      const style = getComputedStyle(active);
      const box = active.getBoundingClientRect();
      return {
        what: active.tagName.toLowerCase() + (active.getAttribute("role") ? "." + active.getAttribute("role") : ""),
        text: (active.getAttribute("aria-label") || active.textContent || "").trim().slice(0, 60),
        outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
        inView: box.bottom > 0 && box.top < innerHeight && box.right > 0,
      };
    });
    if (!one) break;
    reached.push(one);
  }
  return reached;
}

/** Checks that `cargo xtask ci` leaves to `cargo xtask full`. */
export const long = [
  "a thousand runs are painted quickly",
  "of ten thousand calls only the visible ones are rendered",
  "scrolling renders the rest",
  "screenshots are taken",
];

export const checks = {
  "the page opens with the verdict and the failing gate": async ({ open }) => {
    const page = await open("quickstart");
    assert.equal(await page.title(), "✗ fail: mcptest report");
    assert.equal(await page.locator("p.verdict").textContent(), "✗ fail");
    assert.deepEqual(await openRuns(page), ["s0r1"]);
    const failing = page.locator("details.run[open] .check").filter({ hasText: "✗ fail" });
    assert.match(await failing.textContent(), /^✗ fail narrative: 2 of 2 claims without a call/);
    assert.ok(await isInView(failing));
    assert.match(await page.locator("details.run[open] pre.source mark").textContent(), /^narrative$/);
    assert.deepEqual(await page.locator("details.run[open] .message mark.absent").allTextContents(), ["refunded order 1042", "sent an email"]);
    assert.match(await page.locator(".squares").first().textContent(), /✗ fail/);
    assert.deepEqual(await seenRows(page), ["says what it did", "refunds a lost order"], "what failed comes first");
  },

  "a run expands to its calls, and a claim links to the call that backs it": async ({ open }) => {
    const page = await open("quickstart");
    await page.locator("#s0r0 > summary").click();
    const calls = page.locator("#s0r0 .call > details > summary > strong");
    assert.deepEqual(await calls.allTextContents(), ["shop/find_order", "shop/refund_order", "shop/send_email"]);
    assert.deepEqual(await page.locator("#s0r0 .align li").allTextContents(),
      ["= find_order is [0]", "= refund_order is [1]", "= send_email is [2]", "= [0] find_order", "= [1] refund_order", "= [2] send_email"]);
    assert.equal(await count(page, "#s0r0 .align line"), 3);
    await page.locator("#s0r0 .message a").first().click();
    await page.locator("#s0r0k1 pre").first().waitFor();
    assert.match(await page.locator("#s0r0k1 pre").first().textContent(), /"amount": 12/);
    assert.ok(await isInView(page.locator("#s0r0k1")));
    assert.equal(await page.evaluate(() => document.activeElement.closest("li").id), "s0r0k1");
  },

  "charts have text alternatives": async ({ open }) => {
    const page = await open("reliability");
    const labels = (page) => page.locator("svg[role=img]").evaluateAll((list) => list.map((one) => one.getAttribute("aria-label")));
    const found = await labels(page);
    assert.ok(found.includes("pass rate 80 %, interval 49 % to 94.3 %"), found.join("\n"));
    assert.ok(found.some((one) => one.startsWith("runs in a row that all pass, in percent: 1: 100 %, 2: 100 %, 3: 100 %, 4: 31 %")), found.join("\n"));
    assert.ok(await count(page, ".paths li") > 1);
    const stable = await open("agent-stability");
    assert.match(await stable.locator(".bars").first().textContent(), /weakest score0\.500/);
    const faults = await open("fault-injection-recovery", { hash: "#s0r0" });
    const squares = (await faults.locator("td.squares").allTextContents()).map((one) => one.trim());
    assert.equal(squares[0], "✓ pass ✗ recovery", "failing tests come first");
    assert.ok(squares.includes("✓ pass ✓ recovery"), squares.join("\n"));
    assert.equal((await labels(faults.locator("#s0r0")))[0], "call 0 timeout from 0 to 3000 ms; call 1 timeout from 3000 to 6000 ms");
    assert.match(await faults.locator("#s0r0 table").textContent(), /lookup-comes-back.*recover_after.*0, 1.*6000.*by call 2/);
  },

  "the grid shows tests by model": async ({ open }) => {
    const page = await open("model-matrix");
    assert.deepEqual(await page.locator("thead th").allTextContents(), ["test", "thorough", "quick", "guessing"]);
    assert.deepEqual((await page.locator("td.squares").allTextContents()).map((one) => one.trim()), ["✓ pass", "✓ pass", "✗ fail"]);
    await page.locator("td.squares a").nth(2).click();
    await page.waitForFunction(() => document.querySelector(".here"));
    assert.equal(await page.locator(".here > summary > strong").textContent(), "refunds what was paid [guessing]");
  },

  "scored traces have their own cells": async ({ open }) => {
    const page = await open("score");
    const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
    const runs = data.suites.flatMap((suite) => suite.rows).filter((row) => row.family !== "GATE");
    assert.equal((await seenRows(page)).length, runs.length);
    assert.deepEqual([runs.length, await count(page, "article.cell")], [6, 8], "six traces, and two groups with their gates");
    assert.equal(await count(page, "td.squares a"), data.suites.flatMap((suite) => suite.rows).length);
  },

  "links lead to a test, a run and a call, even before those are rendered": async ({ open }) => {
    const page = await open("thousand");
    for (const id of ["s0c24", "s0r999", "s0r250", "s0r999k49"]) {
      assert.equal(await count(page, "#" + id), 0, id + " is there before anybody asked");
    }
    for (const [id, focus] of [["s0c24", "A"], ["s0r999", "SUMMARY"], ["s0r250", "SUMMARY"], ["s0r999k49", "SUMMARY"], ["s0r3", "SUMMARY"], ["s0c0", "A"]]) {
      for (const way of ["typed", "opened"]) {
        const there = way === "typed" ? page : await open("thousand", { hash: "#" + id });
        if (way === "typed") await page.evaluate((id) => { location.hash = id; }, id);
        await there.waitForFunction((id) => document.querySelector(".here")?.id === id, id);
        assert.ok(await isInView(there.locator("#" + id)), `${id}, ${way}, is out of view`);
        assert.deepEqual(await there.evaluate((id) => [document.activeElement.tagName, Boolean(document.activeElement.closest("#" + id))], id), [focus, true]);
        if (id.includes("k")) assert.match(await there.locator("#" + id + " pre").first().textContent(), /rain in city 49/);
        if (way === "opened") await there.context().close();
      }
    }
    // The same link again, after its target was closed.
    await page.evaluate(() => { location.hash = "s0r3"; });
    await page.waitForFunction(() => document.querySelector("#s0r3[open]"));
    await page.locator("#s0r3 > summary").click();
    assert.equal(await count(page, "#s0r3[open]"), 0);
    await page.locator("td.squares a[href='#s0r3']").click();
    assert.equal(await count(page, "#s0r3[open]"), 1);
    // A link to something that does not exist changes nothing.
    await page.evaluate(() => { location.hash = "s9r9k9"; });
    assert.equal(await count(page, "#s0r3[open]"), 1);
  },

  "a link overrides filters that would hide its target": async ({ open }) => {
    const page = await open("quickstart");
    await page.getByRole("button", { name: "1 fail" }).click();
    assert.deepEqual(await seenRows(page), ["says what it did"]);
    await page.evaluate(() => { location.hash = "s0r0k2"; });
    await page.waitForFunction(() => document.querySelector(".here")?.id === "s0r0k2");
    assert.equal(await rowsLeft(page), "2 results");
    assert.equal(await page.getByRole("button", { name: "1 fail" }).getAttribute("aria-pressed"), "false");
  },

  "search and filters find rows, even before those are rendered": async ({ open }) => {
    const page = await open("thousand");
    assert.equal(await rowsLeft(page), "1000 results");
    await page.getByRole("button", { name: "100 fail" }).click();
    assert.equal(await rowsLeft(page), "100 of 1000 results");
    assert.deepEqual((await seenRows(page)).slice(0, 3), ["test 0 #10", "test 0 #20", "test 0 #30"]);
    await page.getByRole("searchbox").fill("TEST 24 #30");
    await untilLeft(page, "1 of 1000 results");
    assert.deepEqual(await seenRows(page), ["test 24 #30"]);
    await page.getByRole("searchbox").fill("is_error");
    await untilLeft(page, "0 of 1000 results");
    await page.getByRole("searchbox").fill("rain in city 49");
    await untilLeft(page, "100 of 1000 results");
    await page.getByRole("searchbox").fill("");
    await page.getByRole("button", { name: "100 fail" }).click();
    await untilLeft(page, "1000 results");

    const small = await open("quickstart");
    const left = async (label, word) => {
      await small.getByLabel(label).selectOption(word);
      return seenRows(small);
    };
    assert.deepEqual(await left("gate", "golden_path"), ["refunds a lost order"]);
    assert.deepEqual(await left("gate", ""), ["says what it did", "refunds a lost order"]);
    assert.deepEqual(await left("tool", "send_email"), ["refunds a lost order"]);
    assert.equal(await rowsLeft(small), "1 of 2 results");
    // A gate over runs is a row too, and does not bring its runs along.
    const gates = await open("reliability");
    await gates.getByLabel("gate").selectOption("reliability");
    assert.deepEqual(await seenRows(gates), []);
    assert.ok(await gates.locator(".cell .check:visible").count() > 1);
  },

  "open rows stay open when filters change": async ({ open }) => {
    const page = await open("quickstart");
    await page.locator("#s0r0 > summary").click();
    await page.getByLabel("tool").selectOption("send_email");
    await page.getByLabel("tool").selectOption("");
    assert.deepEqual(await openRuns(page), ["s0r1", "s0r0"]);
  },

  "the theme follows the system and can be switched, and print is light": async ({ open }) => {
    const page = await open("quickstart", { colorScheme: "dark" });
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [light, dark] = ["rgb(255, 255, 255)", "rgb(20, 23, 26)"];
    assert.equal(await paper(), dark);
    const button = page.getByRole("button", { name: "theme" });
    await button.click();
    assert.deepEqual([await button.textContent(), await paper()], ["theme: light", light]);
    await button.click();
    assert.deepEqual([await button.textContent(), await paper()], ["theme: dark", dark]);
    await page.emulateMedia({ media: "print" });
    assert.equal(await paper(), light);
    await page.emulateMedia({ media: "screen" });
    await button.click();
    await page.emulateMedia({ colorScheme: "light" });
    assert.deepEqual([await button.textContent(), await paper()], ["theme: auto", light]);
  },

  "everything can be reached with the keyboard, with a visible focus": async ({ open }) => {
    const page = await open("quickstart");
    const reached = await tabThrough(page, 60);
    const dim = reached.filter((one) => !one.outlined || !one.inView);
    assert.deepEqual(dim, []);
    const texts = reached.map((one) => one.what + " " + one.text);
    const order = ["a to the results", "button theme: auto", "button ✓ 1 pass", "button ✗ 1 fail", "input search", "select any", "div.region tests and models of examples/quickstart.yml",
      "a ✗ fail, says what it did: fail", "a ✓ pass, refunds a lost order: pass", "summary ✗ fail says what it did", "summary ✓ pass refunds a lost order"];
    let at = 0;
    for (const text of texts) if (at < order.length && text.startsWith(order[at])) at += 1;
    assert.equal(order[at], undefined, "not reached in this order:\n" + texts.join("\n"));
    // The focused element works without a mouse.
    await page.locator("#s0r0 > summary").focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await openRuns(page), ["s0r1", "s0r0"]);
    await page.keyboard.press("Enter");
    assert.deepEqual(await openRuns(page), ["s0r1"]);
    await page.locator("a.skip").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  },

  "failed rows are open in print, and closed again on screen": async ({ open, out }) => {
    const page = await open("narrative-divergence");
    await page.evaluate(() => {
      document.querySelectorAll("details.run").forEach((one) => { one.open = false; });
      addEventListener("beforeprint", () => { window.printed = [...document.querySelectorAll("details.run[open]")].map((one) => one.id); });
    });
    const bad = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).suites.flatMap((suite, s) =>
      suite.rows.map((row, r) => [row.verdict, `s${s}r${r}`]).filter(([verdict]) => verdict === "fail").map(([, id]) => id)));
    assert.ok(bad.length > 0);
    const path = join(out, "print.pdf");
    await page.pdf({ path, format: "A4" });
    const pdf = readFileSync(path);
    assert.equal(pdf.subarray(0, 5).toString("latin1"), "%PDF-");
    assert.ok(pdf.length > 20_000, pdf.length + " bytes");
    assert.deepEqual(await page.evaluate(() => window.printed), bad);
    assert.deepEqual(await openRuns(page), []);
    const large = await open("thousand");
    await large.evaluate(() => addEventListener("beforeprint", () => {
      window.printed = ["article.cell", "details.run", "details.run[open]"].map((one) => document.querySelectorAll(one).length);
    }));
    await large.pdf({ path: join(out, "thousand.pdf") });
    // 25 tests, of which the first has 280 runs and every other 30; every tenth run failed.
    assert.deepEqual(await large.evaluate(() => window.printed), [25, 200 + 24 * 30, 28 + 24 * 3]);
  },

  "hostile text stays text": async ({ open, place }) => {
    const page = await open("hostile");
    for (const text of ["</script>", "<img src", "\\u{202e}", "\\u{0}"]) assert.ok((await page.locator("main").innerText()).includes(text), text);
    // Long text is collapsed.
    await openEverything(page);
    const length = () => page.evaluate(() => [...document.querySelectorAll("main > :not(noscript)")].reduce((sum, one) => sum + one.textContent.length, 0));
    assert.ok(await length() < 500_000, "much text was built");
    await page.getByRole("searchbox").fill("<img");
    await page.waitForFunction(() => / of /.test(document.querySelector(".bar output").textContent));
    await page.getByRole("searchbox").fill("");
    await page.waitForFunction(() => !/ of /.test(document.querySelector(".bar output").textContent));
    await openEverything(page);
    // One run is enough: layout of all of them would test the browser.
    await page.evaluate(() => [...document.querySelectorAll("#s0r0 button")].filter((one) => one.textContent.startsWith("show all")).forEach((one) => one.click()));
    const found = await page.evaluate(() => {
      const names = ["script", "style", "img", "iframe", "object", "embed", "link", "form", "base", "video", "audio", "b"];
      const elements = [...document.querySelectorAll("*")];
      const acting = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\udb40/;
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      let odd = 0;
      while (texts.nextNode()) if (!texts.currentNode.parentElement.closest("script, noscript") && acting.test(texts.currentNode.data)) odd += 1;
      return {
        count: Object.fromEntries(names.map((name) => [name, document.getElementsByTagName(name).length])),
        handlers: elements.filter((one) => [...one.attributes].some((attribute) => attribute.name.startsWith("on"))).length,
        links: [...new Set([...document.links].map((one) => one.getAttribute("href").replace(/\d+/g, "0")))].sort(),
        acting: odd + elements.filter((one) => one.tagName !== "OPTION" && [...one.attributes].some((attribute) => acting.test(attribute.value))).length,
        hacked: window.hacked === undefined ? "no" : "yes",
        longest: Math.max(...[...document.querySelectorAll("pre, p, span")].map((one) => one.textContent.length)),
        isSeen: getComputedStyle(document.body).display,
      };
    });
    assert.deepEqual(found, {
      count: { script: 2, style: 1, img: 0, iframe: 0, object: 0, embed: 0, link: 0, form: 0, base: 0, video: 0, audio: 0, b: 0 },
      handlers: 0, links: ["#main", "#s0c0", "#s0r0", "#s0r0k0"], acting: 0, hacked: "no", longest: found.longest, isSeen: "block",
    });
    // All of the long text is shown, and none of it became an element.
    assert.ok(found.longest > 5_000_000, String(found.longest));
    assert.ok(readFileSync(place("hostile.html")).length > 15_000_000);
  },

  "an accessibility checker finds nothing serious, in light and dark": async ({ open, axe }) => {
    let looked = 0;
    for (const name of EVERY) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await open(name, { colorScheme });
        await openEverything(page);
        await page.evaluate(axe);
        const result = await page.evaluate(() => window.axe.run(document, { preload: false, resultTypes: ["violations"] }));
        const bad = result.violations.filter((one) => ["serious", "critical"].includes(one.impact));
        assert.deepEqual(bad.map((one) => `${name}, ${colorScheme}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + node.failureSummary).join(" | ")}`), []);
        looked += result.passes.length;
        await page.context().close();
      }
    }
    assert.ok(looked > 100);
    return looked + " rules held";
  },

  "a phone needs no sideways scrolling": async ({ open }) => {
    for (const name of [...EVERY, "deep"]) {
      const page = await open(name, { viewport: PHONE });
      if (name !== "deep") await openEverything(page);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= PHONE.width, `${name} is ${width} px wide`);
    }
  },

  "a thousand runs are painted quickly": async ({ open }) => {
    const times = [];
    for (let round = 0; round < 3; round++) {
      const page = await open("thousand");
      const paint = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
      const ready = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd);
      times.push([await paint.jsonValue(), ready]);
      assert.ok(await count(page, "details.run") < 1_000);
      await page.context().close();
    }
    const [paint, ready] = times.sort((a, b) => a[0] - b[0])[0];
    assert.ok(paint < 5_000, `first paint after ${paint} ms`);
    return `first paint after ${paint.toFixed(0)} ms, all there after ${ready.toFixed(0)} ms`;
  },

  "of ten thousand calls only the visible ones are rendered": async ({ open }) => {
    const page = await open("deep");
    const times = [];
    for (const run of ["s0r0", "s0r1"]) {
      const begun = Date.now();
      await page.locator(`#${run} > summary`).click();
      await page.locator(`#${run}k0`).waitFor();
      times.push(Date.now() - begun);
      assert.ok(await count(page, `#${run} .call`) < 2_000);
      assert.equal(await count(page, `#${run} .align li`), 400 + 1_000 + 1);
      assert.ok((await page.locator(`#${run} .align`).boundingBox()).height < 600);
      await page.evaluate((id) => { location.hash = id; }, run + "k9876");
      await page.waitForFunction((id) => document.querySelector(".here")?.id === id, run + "k9876");
      assert.ok(await isInView(page.locator(`#${run}k9876`)));
      assert.ok(await count(page, `#${run} .call`) < 2_000);
      // Reading continues in both directions.
      const first = () => page.locator(`#${run} .call`).first().getAttribute("id");
      const before = await first();
      await page.locator(`#${run}`).getByRole("button", { name: /^show earlier/ }).last().click();
      assert.notEqual(await first(), before);
      await page.evaluate(() => { location.hash = ""; });
      await page.locator(`#${run} > summary`).click();
    }
    return "opened after " + times.join(" and ") + " ms";
  },

  "scrolling renders the rest": async ({ open }) => {
    const page = await open("thousand");
    const built = () => count(page, "article.cell");
    assert.equal(await built(), 20);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForFunction(() => document.querySelectorAll("article.cell").length === 25);
  },

  "screenshots are taken": async ({ open, place }) => {
    for (const name of ["quickstart", "reliability", "fault-injection-recovery", "score"]) {
      for (const [kind, options] of Object.entries({ desktop: {}, dark: { colorScheme: "dark" }, phone: { viewport: PHONE } })) {
        const page = await open(name, options);
        await page.screenshot({ path: place(`${name}-${kind}.png`), fullPage: true });
        if (kind === "desktop") {
          await openEverything(page);
          await page.screenshot({ path: place(`${name}-open.png`), fullPage: true });
          await page.emulateMedia({ media: "print" });
          await page.setViewportSize({ width: 794, height: 1123 });
          await page.screenshot({ path: place(`${name}-print.png`), fullPage: true });
        }
      }
    }
  },
};
