/** Where gold and predicted differ, by kind; a click leads to the place. */

import { html } from "./dom.js";
import { chip } from "./chip.js";
import { quantity } from "./counts.js";
import { visible } from "./text.js";

const KINDS = ["missed", "spurious", "boundary", "label", "attributes", "attachment"];
const HEADS = ["difference", "document", "layer", "gold", "predicted", "sentence"];
const AROUND = 60; // letters of a sentence before and behind what differs

/**
 * Return the list of differences.
 * @param {Document} page
 * @param {object} data
 * @param {import("./view_model.js").Text[]} texts
 * @param {(text: number, side: number, item: object) => void} go  Leads to a mark or a link.
 */
export function drawDifferences(page, data, texts, go) {
  const equal = data.documents.reduce((sum, document) => sum + document.equal, 0);
  const groups = KINDS.map((kind) => {
    const differences = data.differences.filter((difference) => difference.kind === kind);
    const rows = differences.map((difference) => drawDifference(page, data, texts, difference, go));
    return [kind, html(page, "tbody", {}, ...rows)];
  }).filter(([, body]) => body.children.length);
  const chips = groups.map(([kind, body]) => {
    const toggled = () => {
      body.hidden = !body.hidden;
    };
    return chip(page, `${body.children.length} ${kind}`, toggled, { kind });
  });
  const head = html(
    page,
    "tr",
    {},
    ...HEADS.map((name) => html(page, "th", { scope: "col" }, name)),
  );
  const table = html(
    page,
    "table",
    {},
    html(page, "thead", {}, head),
    ...groups.map(([, body]) => body),
  );
  const region = { class: "list", tabindex: "0", role: "group", "aria-label": "differences" };
  const list = groups.length ? [html(page, "div", region, table)] : [];
  const summary = html(
    page,
    "p",
    {},
    html(page, "b", {}, `${quantity(data.differences.length, "difference")}, ${equal} equal`),
    " ",
    ...chips,
  );
  return html(page, "section", { class: "differences" }, summary, ...list);
}

function drawDifference(page, data, texts, difference, go) {
  const text = texts[difference.document];
  const items = difference.items.map((at, side) =>
    at === null ? null : text.sides[side][placesOf(difference)][at],
  );
  const side = items[0] ? 0 : 1;
  const item = items[side];
  const button = html(page, "button", { type: "button", class: difference.kind }, difference.kind);
  button.addEventListener("click", () => go(difference.document, side, item));
  const named = [text.name, data.layers[item.layer].name].map(visible);
  const nameOf = (item) => (difference.kind === "attributes" && item.caption) || item.label;
  const describe = (item) => `${visible(nameOf(item))}: ${text.meaning(item)}`;
  const descriptions = items.map((item) => (item ? describe(item) : ""));
  const cells = [...named, ...descriptions].map((cell) => html(page, "td", { dir: "auto" }, cell));
  const sentence = html(page, "td", { class: "around", dir: "auto" }, ...around(page, text, side, item));
  return html(page, "tr", {}, html(page, "td", {}, button), ...cells, sentence);
}

/** Return the line of a mark, or of the source of a link, with its pieces set off. */
function around(page, text, side, item) {
  const marks = item.sourceMark ? [item.sourceMark, item.targetMark] : [item];
  const [first, last] = text.lines[text.sides[side].homeOf(item)];
  const pieces = marks.flatMap((mark) => mark.fragments).sort(([one], [other]) => one - other);
  const inside = pieces.filter(([start, end]) => start < last && end > first && start < end);
  const [start, end] = inside.length
    ? [inside[0][0] - AROUND, Math.max(...inside.map((piece) => piece[1])) + AROUND]
    : [first, first + AROUND];
  const [from, to] = [Math.max(first, start), Math.min(last, end)];
  const parts = [from > first ? "… " : ""];
  let at = from;
  for (const [left, right] of inside) {
    if (left < at) continue; // one mark inside another
    const piece = visible(text.points.slice(left, Math.min(right, to)).join(""));
    parts.push(visible(text.points.slice(at, left).join("")), html(page, "mark", {}, piece));
    at = Math.min(right, to);
  }
  return [...parts, visible(text.points.slice(at, to).join("")), to < last ? " …" : ""];
}

function placesOf(difference) {
  return difference.what === "spans" ? "marks" : "links";
}
