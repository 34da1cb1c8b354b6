/** What the model can look for: which tasks a text is sent with, and what is known of each. */

import { html } from "../../viewer/draw/dom.js";
import { visible } from "../../viewer/draw/text.js";
import { QUERIES, taskFor } from "./asking.js";

const ADDRESS = "/v1/annotate";
const HEADS = ["layer", "what it shows", "kind of task", "tested on", "score"];
const LANGUAGE = /^[a-z]{2,3}$/; // what may be named; a card says anything

/**
 * Return the tasks that annotate a text.
 * @param {object} model  As GET /v1/model tells it.
 */
export function annotating(model) {
  return model.tasks.filter((task) => task.endpoints.includes(ADDRESS));
}

/**
 * Return the names of the tasks that a text is sent with: those that are neither on request nor
 * often wrong, and those whose layers the reader has asked for.
 * @param {object[]} tasks
 * @param {Map<string, boolean>} chosen  Layers that the reader switched, and whether they are on.
 * @returns {string[]}
 */
export function asked(tasks, chosen) {
  return tasks.filter((task) => isUsual(task) || chosen.get(task.layer)).map(({ name }) => name);
}

function isUsual({ on_request: onRequest, doubt }) {
  return !(onRequest || doubt);
}

/**
 * Return what the drawing may offer beside what it is given.
 * @param {object} model
 * @param {string[]} sent  The names of the tasks that the text was sent with.
 * @returns {import("../../viewer/draw/view.js").Offers}
 */
export function offersOf(model, sent) {
  const layers = annotating(model).map((task) => ({
    name: task.layer,
    analysis: task.analysis,
    color: task.color,
    about: task.about,
    absent: !sent.includes(task.name),
    ...(task.doubt ? { doubt: task.doubt } : {}),
    ...(task.on_request ? { aside: true } : {}),
  }));
  return { analyses: model.analyses, layers };
}

/**
 * Return the language that a model reads, in English; null where nobody says.
 * @param {object} model
 * @returns {?string}
 */
export function languageOf({ language }) {
  if (!LANGUAGE.test(language ?? "")) return null;
  return new Intl.DisplayNames(["en"], { type: "language" }).of(language);
}

/**
 * Say in one sentence what the page does, and for which language.
 * @param {object} model
 */
export function sentenceOf(model) {
  const used = new Set(annotating(model).map((task) => task.analysis));
  const titles = model.analyses.filter(({ key }) => used.has(key)).map(({ title }) => title);
  const list = new Intl.ListFormat("en-GB").format(titles.map((title) => title.toLowerCase()));
  const language = languageOf(model);
  const reads = language ? ` The model ${model.name} reads ${language}.` : ` Model: ${model.name}.`;
  const abilities = QUERIES.filter((query) => taskFor(model, query)).map(({ does }) => does);
  if (!list && abilities.length) {
    return visible(`${new Intl.ListFormat("en-GB").format(abilities)}.${reads}`);
  }
  return visible(`shows in a text: ${list || "nothing"}.${reads}`);
}

/**
 * Return what is known of the tasks: a row for each test set on the model's card.
 * @param {Document} page
 * @param {object} model
 * @returns {Node[]}
 */
export function aboutModel(page, model) {
  const rowOf = (cells, name, says) =>
    html(page, "tr", {}, ...cells.map((cell) => html(page, name, says, visible(cell))));
  const rows = annotating(model).flatMap((task) => {
    const ofTask = model.scores.filter((row) => row.task === task.name);
    const results = ofTask.length ? ofTask : [{}];
    const known = [task.layer, task.about, task.kind.replaceAll("_", " ")];
    return results.map(({ dataset, test }) => rowOf([...known, dataset ?? "", test ?? ""], "td"));
  });
  const table = html(page, "table", {}, rowOf(HEADS, "th", { scope: "col" }), ...rows);
  const box = { class: "wide", tabindex: 0, role: "group", "aria-label": "scores" };
  const licence = model.license ? `, licence ${model.license}` : "";
  const api = html(page, "a", { href: "/docs" }, "the API for programs");
  const name = html(page, "p", {}, visible(`${model.name}${licence}; `), api);
  return [name, html(page, "div", box, table)];
}
