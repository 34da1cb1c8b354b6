// Opens pages in a browser, uses them as a reader would, and prints what it saw as JSON.
// node browser.mjs PLAYWRIGHT CHROMIUM FOLDER [SHOTS]: FOLDER has the pages, SHOTS takes pictures.

import { createRequire } from "node:module";
import { join } from "node:path";

import { ARGUMENTS, hindrances } from "../chromium.mjs";

const [library, executablePath, folder, shots] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(library);
const WIDTHS = [1400, 390];

const seen = { errors: [], requests: [] };
const browser = await chromium.launch({ executablePath, args: ARGUMENTS });

async function open(name, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
  page.on("pageerror", (error) => seen.errors.push(`${name}: ${error.message}`));
  page.on(
    "console",
    (said) => said.type() === "error" && seen.errors.push(`${name}: ${said.text()}`),
  );
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(`file://${join(folder, `${name}.html`)}`);
  return page;
}

const drawn = (page) => page.waitForSelector("svg .item");
const count = (page, selector) => page.locator(selector).count();

async function together(page) {
  await page.click("#tab-all");
  await page.waitForTimeout(200);
}

async function every() {
  const page = await open("every");
  await drawn(page);
  await together(page);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const found = {
    lines: await count(page, ".line"),
    waiting: await count(page, ".line.waiting"),
    trees: await count(page, "svg.tree"),
    tables: await count(page, "tr.tuple"),
    backward: await count(page, ".row.rtl"),
    covered: await page.evaluate(overlapping),
    wide: await page.evaluate(() => document.documentElement.scrollWidth > innerWidth),
  };
  await page.setViewportSize({ width: 480, height: 900 });
  await page.waitForTimeout(400);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  found.narrow = {
    covered: await page.evaluate(overlapping),
    wide: await page.evaluate(() => document.documentElement.scrollWidth > innerWidth),
  };
  await page.close();
  return found;
}

// In the page: captions and words that cover one another, as the browser has set them.
function overlapping() {
  const found = [];
  for (const svg of document.querySelectorAll("svg.strip")) {
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
    const boxes = texts.map((text) => [text, text.getBoundingClientRect()]);
    const inside = ([, one], [, other]) =>
      Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1.5 &&
      Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 4;
    boxes.forEach((one, at) => {
      for (const other of boxes.slice(at + 1)) {
        if (inside(one, other)) found.push(`${one[0].textContent} / ${other[0].textContent}`);
      }
    });
  }
  return found;
}

async function entities() {
  const page = await open("coreference");
  await drawn(page);
  const before = await count(page, ".item");
  await page.hover('.item[data-cluster="2"], .tint[data-cluster="2"]');
  const lit = await page.locator(".item.lit").allTextContents();
  const tip = await page.locator(".tip").innerText();
  await page.mouse.move(0, 0);
  const list = page.locator(".entities > ul > li > button");
  const names = await list.allInnerTexts();
  await list.nth(1).click();
  const pinned = await page.locator(".item.pinned").count();
  const said = await page.locator(".entities .said").innerText();
  await list.nth(1).click();
  const after = await page.locator(".item.pinned").count();
  await page.close();
  return { before, lit, tip, names, pinned, said, after };
}

async function crowded() {
  const page = await open("crowded");
  await drawn(page);
  const tabs = page.locator(".tab");
  const lists = () => page.locator(".legend b:visible").allTextContents();
  const found = {
    tabs: await tabs.allTextContents(),
    first: [await lists(), await count(page, ".item"), await count(page, "svg.tree")],
  };
  await tabs.nth(3).click();
  await page.waitForSelector("svg.tree");
  found.tree = await count(page, "svg.tree");
  await page.click("#tab-grammar");
  await page.click(".legend summary");
  await page.waitForTimeout(200);
  found.grammar = [await lists(), await page.locator(".layers .chip").allTextContents()];
  found.sources = await page.locator(".number .source").allTextContents();
  await page.locator(".layers .chip").nth(0).click();
  await page.waitForTimeout(200);
  found.untagged = await lists();
  await together(page);
  found.all = await lists();
  await page.close();
  return found;
}

// Tabs are walked with the arrow keys; trees fold and fit.
async function trees() {
  const page = await open("crowded", { viewport: { width: 390, height: 900 } });
  await drawn(page);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.locator(".tab").nth(0).focus();
  const found = { walked: [] };
  for (const key of ["ArrowLeft", "ArrowRight", "End", "Home", "ArrowRight", "ArrowRight", "ArrowRight"]) {
    await page.keyboard.press(key);
    found.walked.push(await focused());
  }
  await page.waitForSelector("svg.tree");
  const width = () => page.locator("svg.tree").evaluate((tree) => tree.clientWidth);
  const folded = () =>
    page.locator(".tree .folded").evaluateAll((all) => all.map((node) => node.dataset.key).sort());
  found.narrow = [(await width()) <= 390, await folded()];
  await page.locator(".tree .folded").first().click();
  await page.waitForTimeout(100);
  found.opened = await folded();
  found.kept = await page.evaluate(() => document.activeElement.matches(".tree .foldable:not(.folded)"));
  await page.keyboard.press("Enter");
  await page.waitForTimeout(100);
  found.closed = await folded();
  await page.close();
  return found;
}

async function search() {
  const page = await open("many");
  await drawn(page);
  const output = page.locator(".search output");
  const until = (said) =>
    page.waitForFunction((s) => document.querySelector(".search output").textContent === s, said);
  await page.fill(".search input", "LYSIS buffer");
  await until("1 of 500");
  for (const _ of [1, 2]) await page.press(".search input", "Enter");
  await page.press(".search input", "Shift+Enter");
  const found = { said: await output.innerText(), hits: await count(page, ".hit") };
  await page.press(".search input", "Shift+Enter");
  await page.press(".search input", "Shift+Enter");
  await page.waitForTimeout(200);
  found.last = await output.innerText();
  // Lines that are out of view keep what they had until they are seen again.
  found.seen = await page.locator(".hit.current").evaluateAll((hits) => {
    const boxes = hits.map((hit) => hit.getBoundingClientRect());
    return boxes.filter(({ top, bottom }) => top > 0 && bottom < innerHeight).length;
  });
  await page.fill(".search input", "unheard of");
  await until("not found");
  await page.fill(".search input", "");
  await until("");
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  found.none = await count(page, ".hit");
  await page.click(".outline summary");
  found.lines = await count(page, ".outline li");
  await page.locator(".outline li button").nth(250).click();
  await page.waitForTimeout(200);
  found.there = await page.evaluate(() => {
    const { top, bottom } = document.querySelectorAll(".line")[250].getBoundingClientRect();
    const bar = document.querySelector(".panel").getBoundingClientRect();
    return [top > bar.bottom && bottom < innerHeight, bar.top];
  });
  await page.close();
  return found;
}

async function unlike() {
  const page = await open("unlike");
  await drawn(page);
  const sides = () => count(page, ".line .side");
  const found = { sides: await sides() };
  await page.click(".differences td button.attachment");
  found.after = await sides();
  found.place = await page.evaluate(() => document.activeElement.getAttribute("class"));
  found.tab = await page.locator('.tab[aria-selected="true"]').textContent();
  await page.close();
  return found;
}

async function scores() {
  const page = await open("nested");
  await drawn(page);
  const said = () => page.locator(".slider output").innerText();
  const shown = () =>
    page.locator(".item").evaluateAll((all) => all.map((each) => each.dataset.key));
  const all = [await said(), await shown()];
  await page.locator(".slider input").fill("0.6");
  await page.waitForTimeout(100);
  const few = [await said(), await shown()];
  await page.close();
  return { all, few };
}

async function keys() {
  const page = await open("nested");
  await drawn(page);
  const focused = () => page.evaluate(() => document.activeElement.dataset.key ?? null);
  await page.locator(".theme").focus();
  for (const _ of ["slider", "labels", "row"]) await page.keyboard.press("Tab");
  const found = {
    first: await focused(),
    label: await page.evaluate(() => document.activeElement.ariaLabel),
  };
  await page.keyboard.press("ArrowRight");
  found.second = await focused();
  found.tip = await page.locator(".tip").isVisible();
  await page.keyboard.press("Escape");
  found.left = await focused();
  found.hidden = !(await page.locator(".tip").isVisible());
  await page.close();
  return found;
}

async function pair() {
  const page = await open("pair");
  await drawn(page);
  const kinds = await page.locator(".differences .chip").allTextContents();
  const rows = await page
    .locator(".differences tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  await page.click(".differences td button.attachment");
  const place = await page.evaluate(() => document.activeElement.getAttribute("class"));
  const sides = await page
    .locator(".line")
    .evaluateAll((all) => all.map((line) => line.children.length));
  const rates = await page.locator(".agreement summary").allInnerTexts();
  await page.locator(".agreement summary").first().click();
  const confused = await page.locator(".agreement details[open] .confusions").innerText();
  const around = await page.locator(".differences tbody:last-child tr:last-child .around mark").allInnerTexts();
  await page.click(".differences .chip.missed");
  const shown = await page.locator(".differences tbody tr:visible").count();
  await page.close();
  return { kinds, rows, place, sides, shown, rates, confused, around };
}

async function hostile() {
  const page = await open("hostile");
  await drawn(page);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const found = {
    hurt: await page.evaluate(() => window.hurt ?? null),
    images: await count(page, "img, svg svg, iframe, object, link"),
    scripts: await count(page, "script"),
    sections: await count(page, ".document"),
    heading: await page.locator("h1").innerText(),
  };
  await page.close();
  return found;
}

// Seconds of the page's main thread on the processor: other programs may run beside it.
async function speed() {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value;
  };
  await page.goto(`file://${join(folder, "many.html")}`);
  await page.waitForFunction(() => document.querySelector(".line:not(.waiting)"));
  const found = { first: await used(), lines: await count(page, ".line") };
  found.waiting = await count(page, ".line.waiting");
  await page.evaluate(() => {
    window.dispatchEvent(new Event("beforeprint"));
    document.body.getBoundingClientRect();
  });
  found.all = await used();
  await page.close();
  return found;
}

async function plain() {
  const page = await open("nested", { javaScriptEnabled: false });
  const text = await page.locator("noscript").innerText();
  await page.close();
  return text;
}

// What is drawn stays right when lines are set anew and when nobody says which are in view.
async function fallback() {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  await page.addInitScript(() => delete window.IntersectionObserver);
  await page.goto(`file://${join(folder, "every.html")}`);
  await page.waitForFunction(() => !document.querySelector(".line.waiting"));
  await page.click(".theme");
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.close();
  return theme;
}

// What axe finds, by page, width and scheme; null where there is no axe.
async function openToAll() {
  const found = {};
  for (const name of ["every", "pair", "crowded", "coreference"]) {
    for (const [width, colorScheme] of [
      [1400, "light"],
      [390, "dark"],
    ]) {
      const page = await open(name, { colorScheme, viewport: { width, height: 1000 } });
      await drawn(page);
      if (name !== "coreference") await together(page);
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      found[`${name} ${width} ${colorScheme}`] = await hindrances(page, library);
      await page.close();
    }
  }
  return found;
}

async function board() {
  const found = {};
  for (const width of WIDTHS) {
    const page = await open("board", { viewport: { width, height: 900 } });
    const used = await page.evaluate(() => document.documentElement.scrollWidth);
    found[width] = [used, await hindrances(page, library)];
    await page.close();
  }
  return found;
}

async function pictures() {
  for (const name of ["every", "pair", "crowded"]) {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of WIDTHS) {
        const page = await open(name, { colorScheme, viewport: { width, height: 2000 } });
        await drawn(page);
        await page.waitForTimeout(300);
        await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`) });
        await page.close();
      }
    }
  }
}

const looks = [
  ...[every, entities, crowded, trees, search, unlike, scores, keys, pair, hostile, speed],
  ...[plain, fallback, openToAll, board],
];
for (const look of looks) seen[look.name] = await look();
if (shots) await pictures();
await browser.close();
console.log(JSON.stringify(seen));
