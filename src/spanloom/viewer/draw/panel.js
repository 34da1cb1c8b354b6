/** Above the texts: layers as chips that switch on and off, labels, the least score, light or dark. */

import { html } from "./dom.js";
import { visible } from "./text.js";

const STEPS = 100; // of the slider
const FEW = 3; // layers whose labels are listed where there is room
const ROOMY = "(min-width: 40rem)";

/**
 * Return the panel, and what switches a layer on.
 * @param {Document} page
 * @param {object} data
 * @param {import("./view_model.js").Text[]} texts
 * @param {import("./view_model.js").View} view
 * @param {() => void} changed  Called when the view has changed.
 * @returns {{element: HTMLElement, switchOn: (layer: number) => void}}
 */
export function drawPanel(page, data, texts, view, changed) {
  const slider = drawSlider(page, texts, view, changed);
  const lists = data.layers.map(({ name }, at) =>
    html(page, "p", {}, html(page, "b", {}, visible(name)), ...keys(page, texts, at)),
  );
  const list = () => lists.forEach((entries, at) => (entries.hidden = view.hidden.has(at)));
  const chips = data.layers.map(({ name }, at) => {
    const toggled = () => {
      view.toggle(at);
      slider?.tell();
      list();
      changed();
    };
    return chip(page, name, toggled, { pressed: !view.hidden.has(at), note: sizeOf(texts, at) });
  });
  list();
  const names = { class: "layers", role: "group", "aria-label": "layers" };
  const layers = html(page, "p", names, ...chips);
  const [first, ...below] = slider ? [slider.element, layers] : [layers];
  const tools = html(page, "div", { class: "tools" }, first, theme(page));
  const rest = lists.length ? [drawLabels(page, lists)] : [];
  const element = html(page, "header", { class: "panel" }, tools, ...below, ...rest);
  return { element, switchOn: (at) => chips[at].click() };
}

/** Return the labels of all layers, folded where they would fill the page. */
function drawLabels(page, lists) {
  const roomy = page.defaultView.matchMedia(ROOMY).matches;
  const open = lists.length <= FEW && roomy ? "" : null;
  return html(page, "details", { open }, html(page, "summary", {}, "labels"), ...lists);
}

/** Return how many spans a layer has, or links where it has no span of its own, one count a side. */
function sizeOf(texts, layer) {
  const counts = ["marks", "links"].map((kind) =>
    texts[0].sides.map((_, side) =>
      texts.reduce((sum, text) => sum + countIn(text.sides[side][kind], layer), 0),
    ),
  );
  return countText(counts.find((numbers) => numbers.some(Boolean)) ?? counts[0]);
}

function countIn(items, layer) {
  return items.filter((item) => item.layer === layer).length;
}

function countText(counts) {
  return counts.map((count) => count.toLocaleString("en")).join(" / ");
}

/**
 * Return a button that is pressed or not.
 * @param {Document} page
 * @param {string} name
 * @param {() => void} toggled
 * @param {{kind?: string, pressed?: boolean, note?: string}} how
 */
export function chip(page, name, toggled, { kind = "", pressed = true, note = "" } = {}) {
  const say = { class: `chip ${kind}`.trim(), type: "button", "aria-pressed": String(pressed) };
  const small = note ? [" ", html(page, "small", {}, note)] : [];
  const button = html(page, "button", say, visible(name), ...small);
  button.addEventListener("click", () => {
    const before = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!before));
    toggled();
  });
  return button;
}

/** Return the labels of a layer with their counts, one count a side; those without colour link. */
function keys(page, texts, layer) {
  const [marks, links] = ["marks", "links"].map((kind) => countsOf(texts, layer, kind));
  const coloured = [...marks].map(([label, entry]) => [label, entry, `c${entry.colour}`]);
  const plain = [...links].map(([label, entry]) => [label, entry, "link"]);
  return [...coloured.sort(byLabel), ...plain.sort(byLabel)].map(([label, entry, kind]) => {
    const name = html(
      page,
      "span",
      { class: `name ${entry.plain ? "link" : kind}` },
      visible(label),
    );
    const count = html(page, "i", {}, countText(entry.counts));
    return html(page, "span", { class: "key" }, name, " ", count);
  });
}

function byLabel([one], [other]) {
  return one < other ? -1 : Number(one > other);
}

function countsOf(texts, layer, kind) {
  const entries = new Map();
  for (const text of texts) {
    text.sides.forEach((side, at) => {
      for (const item of side[kind]) {
        if (item.layer !== layer) continue;
        if (!entries.has(item.label)) entries.set(item.label, seen(item, text.sides.length));
        entries.get(item.label).counts[at] += 1;
        entries.get(item.label).plain ||= item.bare || item.cluster !== undefined;
      }
    });
  }
  return entries;
}

function seen(item, sides) {
  return { colour: item.colour, plain: false, counts: new Array(sides).fill(0) };
}

/**
 * Return a slider that hides what has a lower score, null where nothing has one; `tell` is for
 * whoever else changes the view.
 * @returns {?{element: HTMLElement, tell: () => void}}
 */
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
  const output = html(page, "output", {});
  const tell = () => {
    const all = scored.filter((item) => view.shows(item, -Infinity));
    const [left, most] = [all.filter((item) => view.shows(item)), all].map((items) => items.length);
    output.textContent = `${Number(range.value).toFixed(2)}: ${left} of ${most} left`;
  };
  range.addEventListener("input", () => {
    view.least = Number(range.value) <= min ? -Infinity : Number(range.value);
    tell();
    changed();
  });
  tell();
  const name = html(page, "span", {}, "score at least");
  return { element: html(page, "label", { class: "slider" }, name, range, output), tell };
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
