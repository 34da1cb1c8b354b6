/** The index of a long document: its lines by their first words; a click leads there. */

import { html } from "./dom.js";
import { elide, visible } from "./text.js";

const MANY = 8; // lines from which on there is an index
const FIRST = 70; // letters of a line

/**
 * Return the index, null for texts that are seen at a glance. It is filled when it is opened.
 * @param {Document} page
 * @param {import("./view_model.js").Text[]} texts
 * @param {(text: number, line: number) => void} go
 * @returns {?HTMLElement}
 */
export function drawOutline(page, texts, go) {
  const count = texts.reduce((sum, text) => sum + linesOf(text).length, 0);
  if (count < MANY) return null;
  const nav = html(page, "nav", { "aria-label": "index", tabindex: 0 });
  const summary = html(page, "summary", {}, `index (${count.toLocaleString("en")} lines)`);
  const element = html(page, "details", { class: "outline" }, summary, nav);
  const goTo = (text, line) => {
    element.open = false;
    go(text, line);
  };
  element.addEventListener("toggle", () => {
    if (element.open && !nav.children.length) nav.append(...entries(page, texts, goTo));
  });
  return element;
}

function linesOf(text) {
  return [...text.lines.keys()].filter((at) => !text.isBare(at));
}

function entries(page, texts, go) {
  return texts.flatMap((text, number) => {
    const name = texts.length > 1 ? [html(page, "h3", { dir: "auto" }, visible(text.name))] : [];
    const items = linesOf(text).map((at) => {
      const first = elide(visible(text.line(at).trim()), FIRST);
      const count = html(page, "small", {}, `${at + 1} `);
      const button = html(page, "button", { type: "button", dir: "auto" }, count, first);
      button.addEventListener("click", () => go(number, at));
      return html(page, "li", {}, button);
    });
    return [...name, html(page, "ol", {}, ...items)];
  });
}
