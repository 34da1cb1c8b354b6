// Uses the page of a server as a reader would, and prints what it saw as JSON.
// node site_browser.mjs PLAYWRIGHT CHROMIUM URL LOCKED SHORT FOLDER HOSTILE [SHOTS]: LOCKED asks for
// the token "secret", SHORT takes 20 characters; FOLDER takes what is saved, HOSTILE is JSON.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { ARGUMENTS, hindrances } from "../chromium.mjs";

const [library, executablePath, url, locked, short, folder, hostileFile, shots] =
  process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(library);
const TEXT = "Ada met Bob in Paris.\nThen Carl, 😀 and Dora came!";
const FILES = ["JSON", "CoNLL-U", "brat (.zip)", "SVG", "PNG"];
const PROBLEM = { title: "Service Unavailable", status: 503, detail: "too many requests wait" };

const seen = { errors: [], requests: [] };
const browser = await chromium.launch({ executablePath, args: ARGUMENTS });

async function open(address = url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
  page.on("pageerror", (error) => seen.errors.push(`${address}: ${error.message}`));
  page.on("console", (said) => {
    // A browser notes every reply of 400 and above, and every one that does not come.
    const noted = /^Failed to load resource/.test(said.text());
    if (said.type() === "error" && !noted) seen.errors.push(`${address}: ${said.text()}`);
  });
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(address);
  return page;
}

const ready = (page) => page.waitForSelector("#bar:not([hidden])");
const drawn = (page) => page.waitForSelector("svg .item");
const count = (page, selector) => page.locator(selector).count();
const status = (page, said) =>
  page.waitForFunction((s) => document.querySelector("#status").textContent.includes(s), said);
const trouble = async (page) => {
  await page.waitForSelector("#trouble:not([hidden])");
  const again = await page.locator("#trouble button").isVisible();
  return [await page.locator("#trouble p").innerText(), again];
};

/** Unfold the form and write a text into it. */
async function write(page, text) {
  if (await page.locator("#ask").isHidden()) await page.click("#edit");
  await page.fill("#text", text);
}

/** Send what is written, and wait until it is drawn, for which the form folds away. */
async function send(page, act = () => page.keyboard.press("Control+Enter")) {
  await act();
  await page.waitForSelector("#ask", { state: "hidden" });
  await page.waitForSelector("#drawing svg");
}

/** Open the page, whose example is drawn, and have another text drawn. */
async function annotated(options = {}, text = TEXT) {
  const page = await open(url, options);
  await drawn(page);
  await write(page, text);
  await send(page);
  return page;
}

const sentIn = (page) => {
  const sent = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/v1/annotate")) sent.push(request.postDataJSON());
  });
  return sent;
};

async function opening() {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const sent = sentIn(page);
  await page.goto(url);
  await drawn(page);
  await status(page, "spans");
  const found = {
    asked: sent.map(({ text, tasks }) => [text.slice(0, 12), tasks]),
    about: await page.locator("#about").innerText(),
    examples: await count(page, "#examples button"),
    folded: await page.locator("#ask").isHidden(),
    tabs: await page.locator(".tab").allInnerTexts(),
  };
  await page.locator("#examples button").nth(4).click();
  await page.waitForFunction(() => document.querySelector("#text").value.startsWith("A fox"));
  await status(page, "spans");
  found.again = sent.length;
  await page.click("#edit");
  found.open = await page.locator("#text").isVisible();
  found.focus = await page.evaluate(() => document.activeElement.id);
  await page.click("#model summary");
  const cells = await page
    .locator("#model tr:has(td)")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  found.known = cells.map((row) => row.join(" | "));
  await page.close();
  return found;
}

// A task that is often wrong is not asked for until the reader chooses its tab.
async function doubts() {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const sent = sentIn(page);
  await page.route("**/v1/model", async (route) => {
    const model = await (await route.fetch()).json();
    const doubt = (task) => (task.name === "mood" ? { ...task, doubt: "f1 31.0 on x" } : task);
    const language = "de";
    return route.fulfill({ json: { ...model, language, tasks: model.tasks.map(doubt) } });
  });
  await page.goto(url);
  await ready(page);
  await page.waitForSelector("#ask:not([hidden])");
  const found = {
    about: await page.locator("#about").innerText(),
    examples: await count(page, "#examples button"), // which are English
    before: sent.length,
  };
  await write(page, TEXT);
  await send(page);
  found.tabs = await page.locator(".tab").allInnerTexts();
  await page.click("#tab-classes");
  await page.waitForSelector(".doubt");
  found.said = await page.locator(".doubt").innerText();
  await page.waitForFunction(() => document.querySelector("svg .caption")?.textContent.startsWith("loud"));
  await write(page, "Dora came.");
  await send(page);
  found.tasks = sent.map(({ tasks }) => tasks);
  await page.close();
  return found;
}

async function keyboard() {
  const page = await open();
  await drawn(page);
  await page.locator("#edit").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("Ada met Bob!");
  for (const key of ["Tab", "Enter"]) await page.keyboard.press(key);
  await page.waitForSelector("#ask", { state: "hidden" });
  const found = { focus: await page.evaluate(() => document.activeElement.id) };
  await page.locator('.tab[aria-selected="true"]').focus();
  await page.keyboard.press("ArrowRight");
  found.tab = await page.locator('.tab[aria-selected="true"]').innerText();
  found.text = await page.locator(".document svg").first().getAttribute("aria-label");
  await page.click("#edit");
  await page.fill("#text", "");
  found.disabled = await page.locator("#annotate").isDisabled();
  await page.close();
  return found;
}

async function filters() {
  const page = await annotated();
  const found = { said: await page.locator("#status").innerText() };
  await page.click("#tab-all");
  await page.waitForTimeout(200);
  found.all = await count(page, ".item");
  await page.hover(".item.box");
  found.tip = await page.locator(".tip").innerText();
  await page.locator(".slider input").fill("0.6");
  await page.waitForTimeout(200);
  found.sure = await count(page, ".item");
  await page.locator(".layers .chip").nth(1).click();
  await page.waitForTimeout(200);
  found.none = await count(page, ".item");
  await write(page, "Dora came!");
  await send(page);
  await status(page, "2 spans");
  const chips = await page.locator(".layers .chip").all();
  found.kept = await Promise.all(chips.map((chip) => chip.getAttribute("aria-pressed")));
  found.one = await page.locator("#status").innerText();
  await page.close();
  return found;
}

async function files() {
  const page = await annotated();
  await page.click("#tab-all");
  await write(page, "Another text that is not asked about.");
  await page.click("#save summary");
  const found = {};
  for (const name of FILES) {
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name, exact: true }).click();
    const download = await saved;
    found[name] = download.suggestedFilename();
    await download.saveAs(join(folder, found[name]));
  }
  await page.close();
  return found;
}

async function copies() {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  await page.goto(url);
  await drawn(page);
  await write(page, TEXT);
  await send(page);
  await page.click("#save summary");
  await page.click("#copy");
  await status(page, "copied");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  await context.close();
  return copied;
}

async function links() {
  const page = await annotated();
  await page.click("#save summary");
  await page.click("#link");
  await status(page, "holds the text");
  const address = page.url();
  await page.close();
  const other = await open(address);
  await drawn(other);
  const found = { text: await other.inputValue("#text") };
  found.drawn = await other.locator(".document svg").first().getAttribute("aria-label");
  await other.evaluate(() => (location.hash = "#text=d.broken"));
  found.broken = await trouble(other);
  await other.close();
  return { ...found, address };
}

async function opens() {
  const page = await open();
  await drawn(page);
  await write(page, "");
  const file = (name, bytes) => ({ name, mimeType: "text/plain", buffer: Buffer.from(bytes) });
  await page.setInputFiles("#file", file("a.txt", "Böb came."));
  await page.waitForFunction(() => document.querySelector("#text").value);
  const found = { chosen: await page.inputValue("#text") };
  await page.setInputFiles("#file", file("b.txt", [0xff, 0xfe]));
  found.wrong = await trouble(page);
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["Dropped Ada."], "c.txt", { type: "text/plain" }));
    const event = { dataTransfer: transfer, bubbles: true, cancelable: true };
    document.querySelector("#text").dispatchEvent(new DragEvent("drop", event));
  });
  await page.waitForFunction(() => document.querySelector("#text").value.startsWith("Dropped"));
  await page.close();
  return found;
}

async function wrong() {
  const page = await open();
  await drawn(page);
  await write(page, "a");
  await page.evaluate(() => (document.querySelector("#text").value = "a\ud800"));
  await page.locator("#text").dispatchEvent("input");
  await page.click("#annotate");
  const found = { half: await trouble(page) };
  await page.close();
  const strange = await annotated({}, "Ада пришла.");
  found.warning = await strange.locator("#warning").innerText();
  await write(strange, "Ada came.");
  await send(strange);
  found.warned = await strange.locator("#warning").isVisible();
  await strange.close();
  const small = await open(short);
  await ready(small);
  await small.waitForSelector("#ask:not([hidden])"); // the example is too long
  await small.fill("#text", "Twenty-two characters 😀");
  found.size = await small.locator("#size").innerText();
  found.disabled = await small.locator("#annotate").isDisabled();
  await small.keyboard.press("Control+Enter");
  found.asked = seen.requests.filter((each) => each.startsWith(short) && /annotate/.test(each));
  await small.close();
  return found;
}

async function away() {
  const page = await annotated();
  await page.context().setOffline(true);
  await page.click("#edit");
  await page.click("#annotate");
  const found = { said: await trouble(page) };
  await page.context().setOffline(false);
  await page.click("#trouble button");
  await status(page, "spans");
  found.gone = await page.locator("#trouble").isHidden();
  await page.close();
  return found;
}

async function busy() {
  const page = await open();
  await drawn(page);
  let times = 0;
  await page.route("**/v1/annotate", (route) => {
    times += 1;
    if (times > 2) return route.continue();
    const headers = { "Retry-After": times === 1 ? "0" : "30" };
    return route.fulfill({ status: 503, headers, json: PROBLEM });
  });
  await write(page, TEXT);
  await page.click("#annotate");
  await status(page, "asking again in 30 s");
  const found = { said: await page.locator("#status").innerText() };
  await page.click("#cancel");
  await status(page, "given up");
  found.hidden = await page.locator("#cancel").isHidden();
  await send(page, () => page.click("#annotate"));
  await page.close();
  return { ...found, times };
}

async function token() {
  const page = await open(locked);
  await page.waitForSelector("#access:not([hidden])");
  await page.keyboard.type("secret");
  await page.keyboard.press("Enter");
  await drawn(page);
  await page.reload();
  await drawn(page);
  await write(page, TEXT);
  await send(page);
  const kept = await page.evaluate(() => [localStorage.length, document.cookie]);
  await page.close();
  return kept;
}

async function hostile() {
  const strings = JSON.parse(readFileSync(hostileFile, "utf8"));
  const page = await browser.newPage();
  const tasks = strings.map((name) => {
    const said = { name, kind: name, layer: name, about: name, doubt: name, colour: 1 };
    return { ...said, endpoints: ["/v1/annotate"], analysis: "names" };
  });
  await page.route("**/v1/model", async (route) => {
    const reply = await route.fetch();
    const model = await reply.json();
    const scores = strings.map((task) => ({ task, test: task }));
    const name = strings.join("");
    await route.fulfill({ json: { ...model, name, scores, tasks: [...model.tasks, ...tasks] } });
  });
  await page.goto(url);
  await drawn(page);
  await write(page, strings.join("\n"));
  await send(page);
  await page.click("#tab-all");
  const found = { chips: await count(page, ".layers .chip") };
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.click("#save summary");
  await page.click("#link");
  await page.route("**/v1/annotate", (route) => {
    const json = { title: strings.join(""), detail: strings.join("") };
    return route.fulfill({ status: 422, json });
  });
  await page.click("#edit");
  await page.click("#annotate");
  await trouble(page);
  found.hurt = await page.evaluate(() => window.hurt ?? null);
  found.strange = await count(page, "img, svg svg, iframe, object, link:not([rel=icon]), svg script, svg image");
  found.scripts = await count(page, "script");
  await page.close();
  return found;
}

// Milliseconds from the end of the reply to the first line drawn, for 100 sentences.
async function speed() {
  const page = await open();
  await drawn(page);
  const sentence = "Ada met Bob in Paris , and Carl told Dora of the Eiffel Tower .";
  await write(page, Array(100).fill(sentence).join("\n"));
  await page.evaluate(() => {
    const place = document.querySelector("#drawing");
    new MutationObserver((_, observer) => {
      if (document.querySelectorAll(".line").length < 100 || !place.querySelector("svg")) return;
      globalThis.first = performance.now();
      observer.disconnect();
    }).observe(place, { childList: true, subtree: true });
  });
  await send(page);
  await page.waitForFunction(() => globalThis.first);
  const milliseconds = await page.evaluate(() => {
    const replies = performance.getEntriesByType("resource");
    const last = replies.filter(({ name }) => name.endsWith("/v1/annotate")).at(-1);
    return globalThis.first - last.responseEnd;
  });
  const waiting = await count(page, ".line.waiting");
  await page.close();
  return { milliseconds, waiting };
}

async function openToAll() {
  const found = {};
  for (const [width, colorScheme] of [
    [1400, "light"],
    [390, "dark"],
  ]) {
    const page = await annotated({ colorScheme, viewport: { width, height: 900 } });
    await page.click("#edit");
    await page.click("#model summary");
    found[`${width} ${colorScheme}`] = await hindrances(page, library);
    await page.close();
  }
  return found;
}

async function plain() {
  const page = await open(url, { javaScriptEnabled: false });
  const said = await page.locator("body").innerText();
  await page.close();
  return said;
}

async function pictures() {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1400, 390]) {
      const page = await annotated({ colorScheme, viewport: { width, height: 1000 } });
      await page.screenshot({ path: join(shots, `site-${width}-${colorScheme}.png`) });
      await page.context().setOffline(true);
      await page.click("#edit");
      await page.click("#annotate");
      await trouble(page);
      const box = { x: 0, y: 0, width, height: 620 };
      await page.screenshot({ path: join(shots, `away-${width}-${colorScheme}.png`), clip: box });
      await page.close();
    }
  }
}

const looks = [
  ...[opening, doubts, keyboard, filters, files, copies, links, opens, wrong, away, busy, token],
  ...[hostile, speed, openToAll, plain],
];
for (const look of looks) seen[look.name] = await look();
seen.wide = await (async () => {
  const page = await annotated({ viewport: { width: 360, height: 800 } });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  await page.close();
  return wide;
})();
if (shots) await pictures();
await browser.close();
console.log(JSON.stringify(seen));
