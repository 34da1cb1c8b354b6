// Takes the pictures of README and docs: node docs/images.mjs PLAYWRIGHT CHROMIUM PAGES URL
// PLAYWRIGHT is the folder of playwright-core; URL is where `spanloom serve` answers. PAGES has
//   analyses.html   spanloom annotate "$TEXT" --tasks ner,srl,dependency -o PAGES/analyses.html
//   protocol.html   spanloom view fixtures/wlp/train/protocol_415.ann -o PAGES/protocol.html
// $TEXT is: Ada Lovelace met Charles Babbage in London. She wrote the first program for his engine.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [library, executablePath, pages, url] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(resolve(library));
const HIGHEST = 1330; // pixels of a picture

const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox"] });

const served = (tab) => async (page) => {
  await page.goto(url);
  await page.waitForSelector("svg .item");
  if (tab) await page.click(`#tab-${tab}`);
};

const opened = (name, tab) => async (page) => {
  await page.goto(`file://${resolve(pages, name)}.html`);
  if (tab) await page.click(`#tab-${tab}`);
};

const PICTURES = [
  ["analyses", 1000, opened("analyses", "all")],
  ["protocol", 1000, opened("protocol")],
  ["served", 1400, served()],
  ["served-roles", 1400, served("roles")],
  ["served-phone", 390, served()],
];

for (const [name, width, open] of PICTURES) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width, height: 500 }, colorScheme });
    await open(page);
    await page.waitForSelector("svg .item");
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width, height: Math.min(height, HIGHEST) });
    await page.waitForTimeout(500);
    await page.screenshot({ path: join("docs/images", `${name}-${colorScheme}.png`) });
    await page.close();
  }
}
await browser.close();
