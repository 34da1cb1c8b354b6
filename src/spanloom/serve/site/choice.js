/** The layers that a reader chooses from: what each is, and how good it was measured to be. */

import { html } from "../../page/draw/make.js";
import { visible } from "../../page/draw/text.js";

const ADDRESS = "/v1/annotate";

/**
 * Fill in a box to tick for each task that annotates a text; all are ticked.
 * @param {HTMLElement} place
 * @param {object} model  As GET /v1/model tells it.
 */
export function offer(place, model) {
  const tasks = model.tasks.filter((task) => task.served_at.includes(ADDRESS));
  const boxes = tasks.map((task) => boxOf(place.ownerDocument, task, scoreOf(model, task)));
  place.replaceChildren(place.firstElementChild, ...boxes);
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

function boxOf(page, task, score) {
  const box = html(page, "input", { type: "checkbox", value: task.name, checked: "" });
  const about = [task.kind, score].filter(Boolean).map(visible).join(", ");
  return html(page, "label", {}, box, visible(task.name), html(page, "small", {}, about));
}

/** Return the test score on the model's card, if it has one. */
function scoreOf(model, task) {
  return model.scores.find((row) => row.task === task.name)?.test;
}
