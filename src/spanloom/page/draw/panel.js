/** Above the texts: layers as chips that switch on and off, labels, the least score, light or dark. */

import { html } from "./make.js";
import { visible } from "./text.js";

const STEPS = 100; // of the slider

/**
 * Return the panel.
 * @param {Document} page
 * @param {object} data
 * @param {import("./scene.js").Text[]} texts
 * @param {import("./scene.js").View} view
 * @param {() => void} changed  Called when the view has changed.
 */
export function drawPanel(page, data, texts, view, changed) {
  const rows = data.layers.map((layer, at) => {
    const toggled = () => {
      if (!view.hidden.delete(at)) view.hidden.add(at);
      changed();
    };
    return html(page, "p", {}, chip(page, layer.name, toggled), ...keys(page, texts, at));
  });
  const tools = html(page, "p", { class: "tools" }, theme(page));
  const slider = drawSlider(page, texts, view, changed);
  if (slider) tools.prepend(slider);
  return html(page, "header", { class: "panel" }, tools, ...rows);
}

/** Return a button that is pressed or not, pressed at first. */
export function chip(page, name, toggled, kind = "") {
  const say = { class: `chip ${kind}`.trim(), type: "button", "aria-pressed": "true" };
  const button = html(page, "button", say, visible(name));
  button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!pressed));
    toggled();
  });
  return button;
}

/** Return the labels of a layer with their counts, one count a side; those without colour link. */
function keys(page, texts, layer) {
  const [marks, links] = ["marks", "links"].map((kind) => countsOf(texts, layer, kind));
  const coloured = [...marks].map(([label, found]) => [label, found, `c${found.colour}`]);
  const plain = [...links].map(([label, found]) => [label, found, "link"]);
  return [...coloured.sort(byLabel), ...plain.sort(byLabel)].map(([label, found, kind]) => {
    const name = html(
      page,
      "span",
      { class: `name ${found.plain ? "link" : kind}` },
      visible(label),
    );
    const count = html(page, "i", {}, found.counts.map((n) => n.toLocaleString("en")).join(" / "));
    return html(page, "span", { class: "key" }, name, " ", count);
  });
}

function byLabel([one], [other]) {
  return one < other ? -1 : Number(one > other);
}

function countsOf(texts, layer, kind) {
  const found = new Map();
  for (const text of texts) {
    text.sides.forEach((side, at) => {
      for (const item of side[kind]) {
        if (item.layer !== layer) continue;
        if (!found.has(item.label)) found.set(item.label, seen(item, text.sides.length));
        found.get(item.label).counts[at] += 1;
        found.get(item.label).plain ||= item.bare || item.cluster !== undefined;
      }
    });
  }
  return found;
}

function seen(item, sides) {
  return { colour: item.colour, plain: false, counts: new Array(sides).fill(0) };
}

/** Return a slider that hides what has a lower score, null where nothing has one. */
function drawSlider(page, texts, view, changed) {
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
  const said = html(page, "output", {});
  const tell = () => {
    const left = scored.filter((item) => view.shows(item)).length;
    said.textContent = `${Number(range.value).toFixed(2)}: ${left} of ${scored.length} left`;
  };
  range.addEventListener("input", () => {
    view.least = Number(range.value) <= min ? -Infinity : Number(range.value);
    tell();
    changed();
  });
  tell();
  return html(page, "label", { class: "slider" }, "score at least ", range, said);
}

/** Return a switch between the light and the dark page. */
function theme(page) {
  const root = page.documentElement;
  const isDark = () => {
    const system = page.defaultView.matchMedia("(prefers-color-scheme: dark)").matches;
    return root.dataset.theme ? root.dataset.theme === "dark" : system;
  };
  const button = html(page, "button", { class: "theme", type: "button" });
  const tell = () => {
    button.textContent = isDark() ? "light" : "dark";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  tell();
  return button;
}
