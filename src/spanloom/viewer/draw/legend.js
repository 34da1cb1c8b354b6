/** The labels of the layers that are shown: their colours, counts, and what they mean in words. */

import { html } from "./dom.js";
import { countText } from "./counts.js";
import { visible } from "./text.js";
import { wordsFor } from "./view_model.js";

const FEW = 9; // labels that are listed where there is room
export const ROOMY = "(min-width: 40rem)"; // where there is room for more than the text

/**
 * Return the labels of all layers, folded where they would fill the page.
 * @param {Document} page
 * @param {import("./view_model.js").Text[]} texts
 * @param {import("./view.js").View} view
 * @returns {{element: ?HTMLElement, tell: () => void}}  `tell` is for whoever changes the view.
 */
export function drawLegend(page, texts, view) {
  const lists = view.layers.map((layer, at) => {
    const analysis = view.analyses.find(({ key }) => key === layer.analysis);
    const own = layer.about === analysis?.about ? "" : `${visible(layer.about ?? "")} `;
    const name = html(page, "b", {}, visible(layer.name));
    return html(page, "p", {}, name, html(page, "small", {}, own), ...keys(page, texts, layer, at));
  });
  const summary = html(page, "summary", {}, "labels");
  const element = html(page, "details", { class: "legend" }, summary, ...lists);
  const roomy = page.defaultView.matchMedia(ROOMY).matches;
  let touched = false;
  summary.addEventListener("click", () => (touched = true));
  const tell = () => {
    lists.forEach((list, at) => (list.hidden = view.hidden.has(at)));
    const labels = lists.filter((list) => !list.hidden).flatMap((list) => [...list.children]);
    if (!touched) element.open = roomy && labels.filter((part) => isKey(part)).length <= FEW;
  };
  tell();
  return { element: lists.length ? element : null, tell };
}

function isKey(part) {
  return part.className === "key";
}

/** Return the labels of a layer with their counts, one count a side; those without colour link. */
function keys(page, texts, layer, at) {
  const [marks, links] = ["marks", "links"].map((kind) => countsOf(texts, at, kind));
  const coloured = [...marks].map(([label, entry]) => [label, entry, `c${entry.color}`]);
  const plain = [...links].map(([label, entry]) => [label, entry, `link c${layer.color}`]);
  return [...coloured.sort(byLabel), ...plain.sort(byLabel)].map(([label, entry, kind]) => {
    const name = { class: `name ${entry.plain ? "link" : kind}` };
    const words = wordsFor(layer, label);
    const parts = [
      html(page, "span", name, visible(label)),
      ...(words ? [" ", html(page, "span", { class: "words" }, visible(words))] : []),
    ];
    const count = html(page, "i", {}, countText(entry.counts));
    return html(page, "span", { class: "key" }, ...parts, " ", count);
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
  return { color: item.color, plain: false, counts: new Array(sides).fill(0) };
}
