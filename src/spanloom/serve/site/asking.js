/** What a reader asks of a text: a question, labels to choose among, or a range of numbers. */

import { html } from "../../viewer/draw/dom.js";
import { visible } from "../../viewer/draw/text.js";
import { Trouble } from "./trouble.js";

/**
 * @typedef {object} Query
 * @property {string} key      Its form's id is `KEY-form`; `training` of /v1/model knows it, too.
 * @property {string} address  Where it is posted.
 * @property {string} kind     Of the tasks that can answer it.
 * @property {string} does     What such a task does.
 * @property {(values: string[]) => object} body  What is posted beside the text.
 */

/** @type {Query[]} */
export const QUERIES = [
  {
    key: "question",
    address: "/v1/ask",
    kind: "extractive_qa",
    does: "answers questions",
    body: questionOf,
  },
  {
    key: "labels",
    address: "/v1/classify",
    kind: "extractive_classification",
    does: "chooses among labels",
    body: labelsOf,
  },
  {
    key: "range",
    address: "/v1/classify",
    kind: "extractive_regression",
    does: "chooses a number",
    body: rangeOf,
  },
];

/**
 * Return the name of the first task that answers a query, null where there is none. One that learnt
 * from single texts is preferred to one that learnt from pairs.
 * @param {object} model  As GET /v1/model tells it.
 * @param {Query} query
 * @returns {?string}
 */
export function taskFor(model, { address, kind }) {
  const fits = (task) => task.kind === kind && task.endpoints.includes(address);
  const able = model.tasks.filter(fits);
  const single = able.find((task) => task.endpoints.includes("/v1/annotate"));
  return (single ?? able[0])?.name ?? null;
}

function questionOf([question]) {
  if (!question.trim()) throw new Trouble("Type a question.");
  return { question };
}

function labelsOf([line]) {
  const labels = line.split(",").map((label) => label.trim());
  const names = labels.filter(Boolean);
  if (names.length < 2) throw new Trouble("Type two labels or more, with commas between them.");
  return { labels: names };
}

function rangeOf(values) {
  const range = values.map((value) => (value.trim() ? Number(value) : NaN));
  if (!range.every(Number.isFinite)) throw new Trouble("Type two numbers, low and high.");
  return { range };
}

/**
 * Return the parts of a text, in order, and whether each is in one of the fragments.
 * @param {string} text
 * @param {[number, number][]} fragments  In code points, as the server counts them.
 * @returns {{text: string, marked: boolean}[]}
 */
export function partsOf(text, fragments) {
  const points = Array.from(text);
  const parts = [];
  let offset = 0;
  for (const [start, end] of fragments) {
    parts.push({ text: points.slice(offset, start).join(""), marked: false });
    parts.push({ text: points.slice(start, end).join(""), marked: true });
    offset = end;
  }
  parts.push({ text: points.slice(offset).join(""), marked: false });
  return parts.filter((part) => part.text);
}

/** The forms for queries, and the answer to the last one. */
export class Asking {
  /**
   * @param {Document} page
   * @param {import("./server.js").Server} server
   */
  constructor(page, server) {
    this.page = page;
    this.server = server;
    this.answer = page.getElementById("answer");
  }

  /** Return the form of a query. */
  formOf({ key }) {
    return this.page.getElementById(`${key}-form`);
  }

  /**
   * Show the forms of what the model can answer, or how to train one that can.
   * @returns {boolean} Whether there are any.
   */
  offer(model) {
    this.model = model;
    const able = QUERIES.filter((query) => taskFor(model, query) !== null);
    for (const query of QUERIES) this.formOf(query).hidden = !able.includes(query);
    this.page.getElementById("queries").hidden = !able.length;
    this.page.getElementById("untrained").hidden = able.length > 0;
    this.page.getElementById("train").textContent = visible(model.training.question);
    return able.length > 0;
  }

  /** Send a query about a text, and show the answer. */
  async ask(query, text, signal) {
    this.clear();
    if (!text.trim()) throw new Trouble("Type a text first, or choose an example.");
    const inputs = [...this.formOf(query).querySelectorAll("input")];
    const asked = query.body(inputs.map((input) => input.value));
    const task = taskFor(this.model, query);
    const reply = await this.server.query(query.address, { text, tasks: [task], ...asked }, signal);
    this.answer.append(...this.#nodes(asked, text, reply[task]));
    this.answer.querySelector("mark")?.scrollIntoView({ block: "nearest" });
    return "";
  }

  /** Show no answer. */
  clear() {
    this.answer.replaceChildren();
  }

  #nodes({ question, range }, text, answer) {
    const name = question === undefined ? "" : `${visible(question)} `;
    const none = question === undefined ? "nothing fits this text" : "no answer in this text";
    if (!answer) return [html(this.page, "p", {}, `${name}${none}`)];
    const { label, value, score } = answer;
    const chosen = range ? String(value ?? label) : label;
    const content = html(this.page, "strong", { dir: "auto" }, visible(answer.text ?? chosen));
    const line = html(this.page, "p", {}, name, content, scoreOf(score));
    return answer.fragments ? [line, this.#marked(text, answer.fragments)] : [line];
  }

  /** Return the text with the answer highlighted. */
  #marked(text, fragments) {
    const nodes = partsOf(text, fragments).map((part) => {
      const shown = part.text.split("\n").map(visible).join("\n");
      return part.marked ? html(this.page, "mark", {}, shown) : shown;
    });
    const says = { role: "group", tabindex: 0, "aria-label": "text with the answer" };
    return html(this.page, "div", { class: "answered", dir: "auto", ...says }, ...nodes);
  }
}

function scoreOf(score) {
  return typeof score === "number" ? ` (score ${score.toFixed(2)})` : "";
}
