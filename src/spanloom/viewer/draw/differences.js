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
    const found = data.differences.filter((each) => each.kind === kind);
    const rows = found.map((each) => drawDifference(page, data, texts, each, go));
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
  const said = html(
    page,
    "p",
    {},
    html(page, "b", {}, `differences: ${equal} equal`),
    " ",
    ...chips,
  );
  return html(page, "section", { class: "differences" }, said, ...list);
}

function drawDifference(page, data, texts, each, go) {
  const text = texts[each.document];
  const items = each.items.map((at, side) =>
    at === null ? null : text.sides[side][placesOf(each)][at],
  );
  const side = items[0] ? 0 : 1;
  const item = items[side];
  const button = html(page, "button", { type: "button", class: each.kind }, each.kind);
  button.addEventListener("click", () => go(each.document, side, item));
  const named = [text.name, data.layers[item.layer].name].map(visible);
  const told = items.map((one) => (one ? `${visible(one.label)}: ${text.meaning(one)}` : ""));
  const cells = [...named, ...told].map((cell) => html(page, "td", { dir: "auto" }, cell));
  return html(page, "tr", {}, html(page, "td", {}, button), ...cells);
}

function placesOf(difference) {
  return difference.what === "spans" ? "marks" : "links";
}
