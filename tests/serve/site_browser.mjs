// Uses the page of a server as a reader would, and prints what it saw as JSON.
// node site_browser.mjs PLAYWRIGHT CHROMIUM URL LOCKED SHORT FOLDER HOSTILE [SHOTS]: LOCKED asks for
// the token "secret", SHORT takes 20 characters; FOLDER takes what is saved, HOSTILE is JSON.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { ARGUMENTS } from "../chromium.mjs";

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

const ready = (page) => page.waitForSelector("#ask:not([hidden])");
const drawn = (page) => page.waitForSelector("svg .item");
const count = (page, selector) => page.locator(selector).count();
const status = (page, said) =>
  page.waitForFunction((s) => document.querySelector("#status").textContent.includes(s), said);
const trouble = async (page) => {
  await page.waitForSelector("#trouble:not([hidden])");
  const again = await page.locator("#trouble button").isVisible();
  return [await page.locator("#trouble p").innerText(), again];
};

async function annotated(options = {}, text = TEXT) {
  const page = await open(url, options);
  await ready(page);
  await page.fill("#text", text);
  await page.keyboard.press("Control+Enter");
  await drawn(page);
  return page;
}

async function layers() {
  const page = await open();
  await ready(page);
  const found = { offered: await page.locator("#layers label").allTextContents() };
  const cells = await page
    .locator("#layers tr:has(td)")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  found.known = cells.map((row) => row.join(" ").trim());
  await page.keyboard.type("Ada met Bob!");
  for (const key of ["Tab", "Tab", "Space", "Tab", "Tab", "Enter"]) await page.keyboard.press(key);
  await drawn(page);
  found.one = await page.locator(".panel .chip").allTextContents();
  await page.locator("#layers input").nth(0).uncheck();
  found.disabled = await page.locator("#annotate").isDisabled();
  await page.close();
  return found;
}

async function filters() {
  const page = await annotated();
  const found = { said: await page.locator("#status").innerText() };
  found.all = await count(page, ".item");
  await page.hover(".item.box");
  found.tip = await page.locator(".tip").innerText();
  await page.locator(".slider input").fill("0.6");
  await page.waitForTimeout(200);
  found.sure = await count(page, ".item");
  await page.locator(".panel .chip").nth(1).click();
  await page.waitForTimeout(200);
  found.none = await count(page, ".item");
  await page.fill("#text", "Dora came!");
  await page.click("#annotate");
  await status(page, "2 spans");
  const chips = await page.locator(".panel .chip").all();
  found.kept = await Promise.all(chips.map((chip) => chip.getAttribute("aria-pressed")));
  await page.close();
  return found;
}

async function files() {
  const page = await annotated();
  await page.fill("#text", "Another text that is not asked about.");
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
  await ready(page);
  await page.fill("#text", TEXT);
  await page.click("#annotate");
  await drawn(page);
  await page.click("#copy");
  await status(page, "copied");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  await context.close();
  return copied;
}

async function links() {
  const page = await open();
  await ready(page);
  await page.fill("#text", TEXT);
  await page.click("#link");
  await status(page, "holds the text");
  const address = page.url();
  await page.close();
  const other = await open(address);
  await status(other, "");
  await ready(other);
  await other.waitForFunction(() => document.querySelector("#text").value);
  const found = { text: await other.inputValue("#text"), drawn: await count(other, "svg .item") };
  await other.evaluate(() => (location.hash = "#text=d.broken"));
  found.broken = await trouble(other);
  await other.close();
  return { ...found, address };
}

async function opens() {
  const page = await open();
  await ready(page);
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
  await ready(page);
  await page.evaluate(() => (document.querySelector("#text").value = "a\ud800"));
  await page.locator("#text").dispatchEvent("input");
  await page.click("#annotate");
  const found = { half: await trouble(page) };
  await page.close();
  const small = await open(short);
  await ready(small);
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
  await ready(page);
  let times = 0;
  await page.route("**/v1/annotate", (route) => {
    times += 1;
    if (times > 2) return route.continue();
    const headers = { "Retry-After": times === 1 ? "0" : "30" };
    return route.fulfill({ status: 503, headers, json: PROBLEM });
  });
  await page.fill("#text", TEXT);
  await page.click("#annotate");
  await status(page, "asking again in 30 s");
  const found = { said: await page.locator("#status").innerText() };
  await page.click("#cancel");
  await status(page, "given up");
  found.hidden = await page.locator("#cancel").isHidden();
  await page.click("#annotate");
  await drawn(page);
  await page.close();
  return { ...found, times };
}

async function token() {
  const page = await open(locked);
  await page.waitForSelector("#access:not([hidden])");
  await page.keyboard.type("secret");
  await page.keyboard.press("Enter");
  await ready(page);
  await page.reload();
  await ready(page);
  await page.fill("#text", TEXT);
  await page.click("#annotate");
  await drawn(page);
  const kept = await page.evaluate(() => [localStorage.length, document.cookie]);
  await page.close();
  return kept;
}

async function hostile() {
  const strings = JSON.parse(readFileSync(hostileFile, "utf8"));
  const page = await browser.newPage();
  const tasks = strings.map((name) => ({ name, kind: name, endpoints: ["/v1/annotate"] }));
  await page.route("**/v1/model", async (route) => {
    const reply = await route.fetch();
    const model = await reply.json();
    const scores = strings.map((task) => ({ task, test: task }));
    const name = strings.join("");
    await route.fulfill({ json: { ...model, name, scores, tasks: [...model.tasks, ...tasks] } });
  });
  await page.goto(url);
  await ready(page);
  const found = { boxes: await count(page, "#layers input") };
  const boxes = await page.locator("#layers input").all();
  for (const box of boxes.slice(2)) await box.evaluate((element) => (element.checked = false));
  await page.fill("#text", strings.join("\n"));
  await page.click("#annotate");
  await drawn(page);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.click("#link");
  await page.route("**/v1/annotate", (route) => {
    const json = { title: strings.join(""), detail: strings.join("") };
    return route.fulfill({ status: 422, json });
  });
  await page.click("#annotate");
  await trouble(page);
  found.hurt = await page.evaluate(() => window.hurt ?? null);
  found.strange = await count(page, "img, svg svg, iframe, object, link:not([rel=icon]), svg script, svg image");
  found.scripts = await count(page, "script");
  await page.close();
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
    for (const width of [1200, 400]) {
      const page = await annotated({ colorScheme, viewport: { width, height: 1000 } });
      await page.screenshot({ path: join(shots, `site-${width}-${colorScheme}.png`) });
      await page.context().setOffline(true);
      await page.click("#annotate");
      await trouble(page);
      const box = { x: 0, y: 0, width, height: 620 };
      await page.screenshot({ path: join(shots, `away-${width}-${colorScheme}.png`), clip: box });
      await page.close();
    }
  }
}

const looks = [layers, filters, files, copies, links, opens, wrong, away, busy, token, hostile];
for (const look of [...looks, plain]) seen[look.name] = await look();
seen.wide = await (async () => {
  const page = await annotated({ viewport: { width: 360, height: 800 } });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  await page.close();
  return wide;
})();
if (shots) await pictures();
await browser.close();
console.log(JSON.stringify(seen));
