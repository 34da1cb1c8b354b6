/** The layers that a reader chooses from; what each is, and how good it was measured to be. */

import { html } from "../../viewer/draw/dom.js";
import { visible } from "../../viewer/draw/text.js";

const ADDRESS = "/v1/annotate";
const HEADS = ["layer", "what it is", "tested on", "score"];

/**
 * Fill in a box to tick for each task that annotates a text; ticked unless it is on request.
 * @param {HTMLElement} place
 * @param {object} model  As GET /v1/model tells it.
 */
export function offer(place, model) {
  const page = place.ownerDocument;
  const tasks = model.tasks.filter((task) => task.endpoints.includes(ADDRESS));
  const boxes = tasks.map((task) => boxOf(page, task));
  place.replaceChildren(place.firstElementChild, ...boxes, about(page, tasks, model.scores));
  place.hidden = !tasks.length;
}

/**
 * Return the names of the tasks that are ticked.
 * @param {HTMLElement} place
 * @returns {string[]}
 */
export function chosen(place) {
  return [...place.querySelectorAll("input:checked")].map((box) => box.value);
}

function boxOf(page, task) {
  const ticked = task.on_request ? {} : { checked: "" };
  const box = html(page, "input", { type: "checkbox", value: task.name, ...ticked });
  return html(page, "label", {}, box, visible(task.name));
}

/** Return what is known of the tasks, folded: a row for each test set on the model's card. */
function about(page, tasks, scores) {
  const rowOf = (cells, name, says) =>
    html(page, "tr", {}, ...cells.map((cell) => html(page, name, says, visible(cell))));
  const rows = tasks.flatMap(({ name, kind }) => {
    const ofTask = scores.filter((row) => row.task === name);
    const results = ofTask.length ? ofTask : [{}];
    return results.map(({ dataset, test }) => rowOf([name, kind, dataset ?? "", test ?? ""], "td"));
  });
  const table = html(page, "table", {}, rowOf(HEADS, "th", { scope: "col" }), ...rows);
  const summary = html(page, "summary", {}, "what they are, and how good");
  return html(page, "details", {}, summary, html(page, "div", { class: "wide" }, table));
}
