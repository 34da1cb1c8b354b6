/** The slider that hides what has a low score. */

import { html } from "./dom.js";

const STEPS = 100; // of the slider

/**
 * Return a slider that hides what has a lower score, null where nothing has one; `tell` is for
 * whoever else changes the view.
 * @param {Document} page
 * @param {import("./view_model.js").Text[]} texts
 * @param {import("./view.js").View} view
 * @param {() => void} changed
 * @returns {?{element: HTMLElement, tell: () => void}}
 */
export function drawSlider(page, texts, view, changed) {
  const items = texts.flatMap((text) =>
    text.sides.flatMap((side) => [...side.marks, ...side.links]),
  );
  const scored = items.filter((item) => item.score !== undefined);
  if (!scored.length) return null;
  const [min, max] = scored.reduce(
    ([low, high], { score }) => [Math.min(low, score), Math.max(high, score)],
    [0, 1],
  );
  const step = (max - min) / STEPS;
  const range = html(page, "input", { type: "range", min, max, step, value: min });
  const output = html(page, "output", {});
  const name = html(page, "span", {}, "score at least");
  const element = html(page, "label", { class: "slider" }, name, range, output);
  const tell = () => {
    const all = scored.filter((item) => view.shows(item, -Infinity));
    element.hidden = !all.length;
    const [left, most] = [all.filter((item) => view.shows(item)), all].map((items) => items.length);
    output.textContent = `${Number(range.value).toFixed(2)}: ${left} of ${most} left`;
  };
  range.addEventListener("input", () => {
    view.least = Number(range.value) <= min ? -Infinity : Number(range.value);
    tell();
    changed();
  });
  tell();
  return { element, tell };
}
