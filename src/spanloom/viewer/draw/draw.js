/**
 * Documents as pictures: spans as boxes over the words, relations as arcs, trees, tables, colours.
 *
 * `draw(host, data)` fills an element with what `page/data.py` describes. A line is drawn when it
 * comes near the view; until then its text stands there. Everything is laid out in the fonts that
 * the page has, and again when its width changes.
 */

import { drawDifferences } from "./differences.js";
import { drawTable, drawTree } from "./trees_and_tables.js";
import { enterable, listen, moveTo } from "./interaction.js";
import { layout } from "./layout.js";
import { html } from "./dom.js";
import { fontsOf } from "./measure.js";
import { drawPanel } from "./panel.js";
import { Text, View } from "./view_model.js";
import { MARGIN, drawRow } from "./row_svg.js";
import { visible } from "./text.js";
import { treesOf } from "./tree.js";

const NARROWEST = 200; // pixels that a row has at least
const SETTLED = 150; // milliseconds that a width stays the same before lines are set anew
const SLICE = 20; // lines that are drawn at once where nobody says which are in view

/**
 * Draw documents into an element; what it held goes.
 * @param {HTMLElement} host
 * @param {object} data  As page/data.py makes it.
 * @param {{ahead?: number, chosen?: Map<string, boolean>}} options  How many pixels beyond the view
 *   lines are drawn; which layers the reader has switched, and whether they are shown.
 * @returns {{stop: () => void, complete: () => void, chosen: Map<string, boolean>}}  `stop` ends
 *   listening to the page, `complete` draws the lines that were not near the view yet, `chosen` is
 *   for the next drawing.
 */
export function draw(host, data, { ahead = 600, chosen } = {}) {
  const drawing = new Drawing(host, data, ahead, new View(data.layers, chosen));
  return {
    stop: () => drawing.stop(),
    complete: () => drawing.complete(),
    chosen: drawing.view.chosen,
  };
}

class Drawing {
  #lines = new Map(); // element of a line -> {text, at, drawn}
  #generation = 1; // goes up with every change of what is to be seen
  #widths = new Map(); // number of sides in a line -> width of each
  #stopped = new AbortController();

  constructor(host, data, ahead, view) {
    this.host = host;
    this.page = host.ownerDocument;
    this.data = data;
    this.view = view;
    this.fonts = fontsOf(host);
    this.texts = data.documents.map((document) => new Text(document, data.layers));
    host.classList.add("drawing", ...(data.sides.length > 1 ? ["pair"] : []));
    host.replaceChildren(...this.#frame());
    listen(host, (element) => this.#sideOf(element), this.#stopped.signal);
    this.#watch(ahead);
  }

  /** Stop listening to the page. */
  stop() {
    this.#stopped.abort();
    this.seen?.disconnect();
    this.sized.disconnect();
  }

  #frame() {
    const { page, data, texts } = this;
    this.panel = drawPanel(page, data, texts, this.view, () => this.#refresh());
    const go = (text, side, item) => this.#go(text, side, item);
    const list = data.sides.length > 1 ? [drawDifferences(page, data, texts, go)] : [];
    return [this.panel.element, ...list, ...texts.map((text, at) => this.#section(text, at))];
  }

  #section(text, number) {
    const { page } = this;
    const name = visible(text.name) || `document ${number + 1}`;
    const notes = text.notes.map((note) =>
      html(page, "p", { class: "loose", dir: "auto" }, visible(note)),
    );
    const loose = text.sides.flatMap((side) => side.loose);
    const items = loose.map((line) => html(page, "li", { dir: "auto" }, visible(line)));
    const rest = items.length ? [html(page, "ul", { class: "loose" }, ...items)] : [];
    const lines = text.lines.map((_, at) => this.#line(text, at));
    const head = html(page, "h2", { dir: "auto" }, name);
    return html(
      page,
      "section",
      { class: "document", "data-text": number },
      head,
      ...notes,
      ...lines,
      ...rest,
    );
  }

  /** Return the place of a line, with its text until it is drawn; a blank one stays empty. */
  #line(text, at) {
    if (text.isBare(at)) return html(this.page, "div", { class: "line blank" });
    const element = html(
      this.page,
      "div",
      { class: "line waiting", dir: "auto" },
      visible(text.line(at)),
    );
    this.#lines.set(element, { text, at, drawn: 0 });
    return element;
  }

  #watch(ahead) {
    const { defaultView } = this.page;
    if (defaultView.IntersectionObserver) {
      const seen = (entries) => this.#seen(entries);
      this.seen = new defaultView.IntersectionObserver(seen, { rootMargin: `${ahead}px 0px` });
    }
    let width = this.host.clientWidth;
    let timer = 0;
    const set = () => {
      if (this.host.clientWidth === width) return;
      width = this.host.clientWidth;
      this.#refresh();
    };
    this.sized = new defaultView.ResizeObserver(() => {
      defaultView.clearTimeout(timer);
      timer = defaultView.setTimeout(set, SETTLED);
    });
    this.sized.observe(this.host);
    const { signal } = this.#stopped;
    defaultView.addEventListener("beforeprint", () => this.complete(), { signal });
    this.#observe();
  }

  #seen(entries) {
    for (const entry of entries) if (entry.isIntersecting) this.#drawLine(entry.target);
  }

  /** Ask anew which lines are in view; where nobody can say, draw all of them, a slice at a time. */
  #observe() {
    if (!this.seen) {
      this.#drawSlice([...this.#lines.keys()], this.#generation);
      return;
    }
    this.seen.disconnect();
    for (const element of this.#lines.keys()) this.seen.observe(element);
  }

  #drawSlice(waiting, generation) {
    if (generation !== this.#generation || !waiting.length || this.#stopped.signal.aborted) return;
    for (const element of waiting.slice(0, SLICE)) this.#drawLine(element);
    const { defaultView } = this.page;
    defaultView.setTimeout(() => this.#drawSlice(waiting.slice(SLICE), generation));
  }

  #refresh() {
    this.#generation += 1;
    this.#widths.clear();
    this.#observe();
  }

  /** Draw all lines, wherever the view is. */
  complete() {
    for (const element of this.#lines.keys()) this.#drawLine(element);
  }

  #drawLine(element) {
    const line = this.#lines.get(element);
    if (line.drawn === this.#generation) return;
    line.drawn = this.#generation;
    const { text, at } = line;
    const beside = text.differs(at, this.view);
    const sides = text.sides.slice(0, beside ? undefined : 1);
    const names = sides.map((_, number) => (beside ? this.data.sides[number] : null));
    const places = names.map((name, number) =>
      html(this.page, "div", { class: "side", "data-side": number, "data-name": name }),
    );
    element.className = "line";
    element.removeAttribute("dir"); // rows say themselves how they run
    element.replaceChildren(...places);
    const width = this.#widthOf(places);
    sides.forEach((side, number) => {
      places[number].replaceChildren(...this.#drawSide(side, at, width, names[number]));
    });
  }

  /** Return the width of the rows in a line of so many sides. */
  #widthOf(places) {
    if (!this.#widths.has(places.length)) {
      const style = this.page.defaultView.getComputedStyle(places[0]);
      const gutter = parseFloat(style.getPropertyValue("--gutter"));
      const width = places[0].clientWidth - gutter - 2 * MARGIN;
      this.#widths.set(places.length, Math.max(NARROWEST, width));
    }
    return this.#widths.get(places.length);
  }

  #drawSide(side, at, width, name) {
    const { page, fonts, view } = this;
    const { text } = side;
    const setting = { width, fonts };
    const [marks, links] = [side.boxed(at, view), side.arched(at, view)];
    const strips = layout(text.points, text.lines[at], marks, links, setting);
    const tell = (item) => text.describe(item).join(". ");
    const rows = strips.map((strip, row) => {
      return drawRow(page, strip, row ? null : name, row ? "" : at + 1, tell);
    });
    const { roots, children } = side.trees(at, view);
    const trees = treesOf(text.points, roots, children, fonts);
    const tables = side.tuples(at, view).map(([layer, tuples]) => {
      return drawTable(page, text.points, tuples, this.data.layers[layer].name);
    });
    const figures = [...rows, ...trees.map((tree) => drawTree(page, tree, tell))];
    for (const figure of figures) enterable(figure.querySelector("svg"));
    return [...figures, ...tables];
  }

  /** Return the side that an element belongs to, and the element of all of its document. */
  #sideOf(element) {
    const section = element.closest(".document");
    const number = Number(element.closest(".side").dataset.side);
    return { side: this.texts[Number(section.dataset.text)].sides[number], element: section };
  }

  /** Lead to a mark or a link, and switch on its layer; one that is not drawn for another reason is
   * shown by its source, or by its line. */
  #go(number, sideNumber, item) {
    if (this.view.hidden.has(item.layer)) this.panel.switchOn(item.layer);
    const text = this.texts[number];
    const home = text.sides[sideNumber].homeOf(item);
    const section = this.host.querySelector(`[data-text="${number}"]`);
    const element = section.querySelectorAll(".line")[home];
    this.#drawLine(element);
    element.scrollIntoView({ block: "center" });
    const keys = item.sourceMark ? [`l${item.at}`, `s${item.source}`] : [`s${item.at}`];
    const side = element.querySelector(`[data-side="${sideNumber}"]`);
    const shown = keys.map((key) => side?.querySelector(`.item[data-key="${key}"]`)).find(Boolean);
    if (shown) moveTo(shown);
  }
}
