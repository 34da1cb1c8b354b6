/** Where gold and predicted differ, by kind; a click leads to the place. */

import { html } from "./dom.js";
import { chip } from "./panel.js";
import { visible } from "./text.js";

const KINDS = ["missed", "spurious", "boundary", "label", "attachment"];
const HEADS = ["difference", "document", "layer", "gold", "predicted"];

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
  const list = groups.length ? [html(page, "div", { class: "list", tabindex: "0" }, table)] : [];
  const summary = html(
    page,
    "p",
    {},
    html(page, "b", {}, `differences: ${equal} equal`),
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
  const describe = (item) => `${visible(item.label)}: ${text.meaning(item)}`;
  const descriptions = items.map((item) => (item ? describe(item) : ""));
  const cells = [...named, ...descriptions].map((cell) => html(page, "td", { dir: "auto" }, cell));
  return html(page, "tr", {}, html(page, "td", {}, button), ...cells);
}

function placesOf(difference) {
  return difference.what === "spans" ? "marks" : "links";
}
