/** How far gold and predicted agree: precision, recall and F1 by label, and what is confused. */

import { html } from "./dom.js";
import { visible } from "./text.js";

const HEADS = ["label", "gold", "predicted", "equal", "precision", "recall", "F1"];
const NOTHING = "nothing";

/**
 * Return precision, recall and F1 in percent; null where they would divide by 0.
 * @param {number} gold
 * @param {number} predicted
 * @param {number} equal
 */
export function ratesOf(gold, predicted, equal) {
  const share = (whole) => (whole ? (100 * equal) / whole : null);
  return [share(predicted), share(gold), share((gold + predicted) / 2)];
}

/**
 * Return what is confused with what: labels of gold by row, of predicted by column, with counts;
 * "" stands for nothing there. Labels that are never confused are left out.
 * @param {[?string, ?string, number][]} confusions
 * @param {[string, number, number, number, number][]} labels
 */
export function confusionTable(confusions, labels) {
  const equal = new Map(labels.map(([label, , , count]) => [label, count]));
  const counts = new Map(confusions.map(([gold, predicted, count]) => [keyOf(gold, predicted), count]));
  const sorted = (values) => [...new Set(values)].filter((value) => value !== null).sort();
  const names = sorted(confusions.flatMap(([gold, predicted]) => [gold, predicted]));
  const rows = [...names, null].filter((name) => name || confusions.some(([gold]) => gold === null));
  const columns = [...names, null].filter(
    (name) => name || confusions.some(([, predicted]) => predicted === null),
  );
  const cell = (row, column) =>
    row !== null && row === column ? (equal.get(row) ?? 0) : (counts.get(keyOf(row, column)) ?? 0);
  return { rows, columns, counts: rows.map((row) => columns.map((column) => cell(row, column))) };
}

function keyOf(...labels) {
  return JSON.stringify(labels);
}

/**
 * Return the tables of agreement, a section for each layer.
 * @param {Document} page
 * @param {object} data
 */
export function drawAgreement(page, data) {
  const parts = data.agreement.map((entry) => layerOf(page, data.layers[entry.layer].name, entry));
  if (parts.length === 1) parts[0].open = true;
  return html(page, "section", { class: "agreement", "aria-label": "agreement" }, ...parts);
}

function layerOf(page, layer, { what, labels, confusions }) {
  const total = [1, 2, 3].map((at) => labels.reduce((sum, row) => sum + row[at], 0));
  const rows = labels.map(([label, ...counts]) => rowOf(page, label, counts));
  const heads = HEADS.map((name, at) =>
    html(page, "th", { scope: "col", class: at ? "count" : null }, name),
  );
  const name = `${visible(layer)}, ${what}`;
  const [precision, recall, f1] = ratesOf(...total).map(percent);
  const summary = html(page, "summary", {}, html(page, "b", {}, name));
  summary.append(` precision ${precision}, recall ${recall}, F1 ${f1}`);
  const table = html(
    page,
    "table",
    {},
    html(page, "thead", {}, html(page, "tr", {}, ...heads)),
    html(page, "tbody", {}, ...rows),
  );
  const element = html(page, "details", {}, summary, scrolled(page, `${name}: by label`, table));
  if (confusions.length) element.append(...confused(page, name, confusions, labels));
  return element;
}

function rowOf(page, label, [gold, predicted, equal]) {
  const rates = ratesOf(gold, predicted, equal).map(percent);
  const cells = [gold, predicted, equal, ...rates].map((value) =>
    html(page, "td", { class: "count" }, String(value)),
  );
  return html(page, "tr", {}, html(page, "th", { scope: "row" }, visible(label)), ...cells);
}

function percent(value) {
  return value === null ? "–" : value.toFixed(1);
}

function confused(page, name, confusions, labels) {
  const { rows, columns, counts } = confusionTable(confusions, labels);
  const head = (label, scope) =>
    html(page, "th", { scope, class: "short" }, label === null ? NOTHING : visible(label));
  const corner = html(page, "th", { scope: "col" }, "gold ↓ predicted →");
  const top = html(page, "tr", {}, corner, ...columns.map((label) => head(label, "col")));
  const body = rows.map((row, at) => {
    const cells = counts[at].map((count, number) => {
      const kind = row === columns[number] ? "count equal" : "count";
      return html(page, "td", { class: kind }, count ? String(count) : "");
    });
    return html(page, "tr", {}, head(row, "row"), ...cells);
  });
  const table = html(page, "table", { class: "confusions" }, top, ...body);
  const title = html(page, "p", {}, "What is confused with what:");
  return [title, scrolled(page, `${name}: what is confused`, table)];
}

/** Return a table that is scrolled where it is wider than the page, also with the keyboard. */
function scrolled(page, name, table) {
  return html(page, "div", { class: "wide", tabindex: 0, role: "group", "aria-label": name }, table);
}
