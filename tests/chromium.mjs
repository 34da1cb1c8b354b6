// How the tests of pages start chromium, and look for what keeps readers out.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
];

/** Return what keeps readers out of a page, by axe-core beside playwright-core; null without it. */
export async function hindrances(page, library) {
  const source = join(library, "..", "axe-core", "axe.min.js");
  if (!existsSync(source)) return null;
  await page.evaluate(readFileSync(source, "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}
