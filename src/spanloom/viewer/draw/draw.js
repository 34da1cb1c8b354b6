/**
 * Documents as pictures: spans as boxes over the words, relations as arcs, trees, tables, colours.
 *
 * `draw(host, data)` fills an element with what `viewer/data.py` describes. A line is drawn when it
 * comes near the view; until then its text stands there. Everything is laid out in the fonts that
 * the page has, and again when its width changes.
 */

import { drawAgreement } from "./agreement.js";
import { drawDifferences } from "./differences.js";
import { html } from "./dom.js";
import { Entities } from "./entities.js";
import { listen, moveTo } from "./interaction.js";
import { drawSide } from "./line.js";
import { fontsOf } from "./measure.js";
import { drawOutline } from "./outline.js";
import { drawPanel } from "./panel.js";
import { MARGIN } from "./row_svg.js";
import { Search } from "./search.js";
import { TEXTS } from "./tabs.js";
import { visible } from "./text.js";
import { View } from "./view.js";
import { Text } from "./view_model.js";

const NARROWEST = 200; // pixels that a row has at least
const SETTLED = 150; // milliseconds that a width stays the same before lines are set anew
const SLICE = 20; // lines that are drawn at once where nobody says which are in view
const PATIENCE = 40; // milliseconds of drawing after which the reader sees what there is

/**
 * Draw documents into an element; what it held goes.
 * @param {HTMLElement} host
 * @param {object} data  As viewer/data.py makes it.
 * @param {object} options
 * @param {number} [options.ahead]  How many pixels beyond the view lines are drawn.
 * @param {import("./view.js").State} [options.state]  What the reader chose in an earlier drawing.
 * @param {import("./view.js").Offers} [options.offers]  Layers that can be asked for.
 * @param {(layers: string[]) => void} [options.wanted]  Is told which of them the reader asks for.
 * @returns {{stop: () => void, complete: () => void, state: import("./view.js").State}}  `stop` ends
 *   listening to the page, `complete` draws the lines that were not near the view yet.
 */
export function draw(host, data, { ahead = 600, state, offers, wanted = () => {} } = {}) {
  const view = new View(data, state, offers);
  const drawing = new Drawing(host, data, view, { ahead, wanted });
  return {
    stop: () => drawing.stop(),
    complete: () => drawing.complete(),
    state: view.state,
  };
}

class Drawing {
  #lines = new Map(); // element of a line -> {text, at, drawn}
  #generation = 1; // goes up with every change of what is to be seen
  #widths = new Map(); // number of sides in a line -> width of each
  #open = new Map(); // side -> nodes of trees that the reader has opened (true) or folded
  #near = new Set(); // elements of lines that came near the view and are not drawn yet
  #stopped = new AbortController();

  constructor(host, data, view, { ahead, wanted }) {
    this.host = host;
    this.page = host.ownerDocument;
    this.data = data;
    this.view = view;
    this.ahead = ahead;
    this.fonts = fontsOf(host);
    this.texts = data.documents.map((document) => new Text(document, view.layers));
    host.classList.add("drawing", ...(data.sides.length > 1 ? ["pair"] : []));
    host.replaceChildren(...this.#frame(wanted));
    this.#name();
    const { signal } = this.#stopped;
    listen(host, (element) => this.#sideOf(element), signal);
    host.addEventListener("click", (event) => this.#fold(event), { signal });
    this.#watch();
  }

  /** Stop listening to the page. */
  stop() {
    this.#stopped.abort();
    this.seen?.disconnect();
    this.sized.disconnect();
  }

  #frame(wanted) {
    const { page, data, texts, view } = this;
    const go = (text, side, item) => this.#go(text, side, item);
    const goToLine = (text, at) => this.#goToLine(text, at);
    this.search = new Search(page, texts, { changed: () => this.#refresh(), go: goToLine });
    const heard = { goToLine, lit: () => this.#pin() };
    this.entities = new Entities(page, texts, view, heard);
    const changed = () => this.#changed();
    const outline = drawOutline(page, texts, goToLine);
    const others = { tools: [this.search.element], lists: outline ? [outline] : [] };
    this.panel = drawPanel(page, texts, view, { changed, wanted }, others);
    const compared = data.sides.length > 1;
    const above = compared
      ? [drawAgreement(page, data), drawDifferences(page, data, texts, go)]
      : [];
    const role = view.analyses.length > 1 ? { role: "tabpanel", "aria-label": "texts" } : {};
    const sections = texts.map((text, at) => this.#section(text, at));
    this.body = html(page, "div", { class: "texts", id: TEXTS, ...role }, ...sections);
    const lists = html(page, "div", { class: "beside" }, this.entities.element);
    const main = html(page, "div", { class: "sheet" }, this.body, lists);
    return [...above, this.panel.element, main];
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
    const inner = [head, ...notes, ...lines, ...rest];
    return html(page, "section", { class: "document", "data-text": number }, ...inner);
  }

  /** Return the place of a line, with its text until it is drawn; a blank one stays empty. */
  #line(text, at) {
    if (text.isBare(at)) return html(this.page, "div", { class: "line blank" });
    const waiting = visible(text.line(at));
    const element = html(this.page, "div", { class: "line waiting", dir: "auto" }, waiting);
    this.#lines.set(element, { text, at, drawn: 0 });
    return element;
  }

  #watch() {
    const { defaultView } = this.page;
    if (defaultView.IntersectionObserver) {
      const seen = (entries) => this.#seen(entries);
      this.seen = new defaultView.IntersectionObserver(seen, { rootMargin: `${this.ahead}px 0px` });
    }
    let width = this.body.clientWidth;
    let timer = 0;
    const set = () => {
      if (this.body.clientWidth === width) return;
      width = this.body.clientWidth;
      this.#refresh();
    };
    this.sized = new defaultView.ResizeObserver(() => {
      defaultView.clearTimeout(timer);
      timer = defaultView.setTimeout(set, SETTLED);
    });
    this.sized.observe(this.body);
    const { signal } = this.#stopped;
    defaultView.addEventListener("beforeprint", () => this.complete(), { signal });
    this.#observe();
  }

  #seen(entries) {
    const idle = !this.#near.size;
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#near.add(target);
      else this.#near.delete(target);
    }
    if (idle) this.#drawSome();
  }

  /** Draw lines near the view for a while, then let the browser show them; lines that earlier ones
   * have pushed away wait until they come near again. */
  #drawSome() {
    const { defaultView } = this.page;
    const end = defaultView.performance.now() + PATIENCE;
    for (const element of this.#near) {
      this.#near.delete(element);
      if (this.#isNear(element)) this.#drawLine(element);
      if (defaultView.performance.now() > end) break;
    }
    if (this.#near.size && !this.#stopped.signal.aborted)
      defaultView.setTimeout(() => this.#drawSome());
  }

  /** Whether a line is in view, or not far from it. */
  #isNear(element) {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom >= -this.ahead && top <= this.page.defaultView.innerHeight + this.ahead;
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

  /** Draw what the reader has chosen in the panel. */
  #changed() {
    this.#name();
    this.entities.tell();
    this.#refresh();
  }

  /** Make room for the names of layers where several are shown. */
  #name() {
    const { layers, hidden } = this.view;
    const shown = layers.filter((layer, at) => layer.shape && !hidden.has(at));
    this.host.classList.toggle("named", shown.length > 1);
  }

  #refresh() {
    this.#generation += 1;
    this.#near.clear();
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
    const hits = this.search.within(this.texts.indexOf(text), text.lines[at]);
    sides.forEach((side, number) => {
      const place = { at, width, name: names[number], open: this.#openOf(side), hits };
      places[number].replaceChildren(...drawSide(this, side, place));
    });
    this.#pin(element);
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

  /** Return the side that an element belongs to, and the element of all of its document. */
  #sideOf(element) {
    const section = element.closest(".document");
    const number = Number(element.closest(".side").dataset.side);
    return { side: this.texts[Number(section.dataset.text)].sides[number], element: section };
  }

  #openOf(side) {
    if (!this.#open.has(side)) this.#open.set(side, new Map());
    return this.#open.get(side);
  }

  /** Fold or open the node of a tree that was clicked. */
  #fold(event) {
    const node = event.target.closest(".foldable");
    if (!node) return;
    const element = node.closest(".line");
    const { side } = this.#sideOf(node);
    const { key } = node.dataset;
    this.#openOf(side).set(Number(key.slice(1)), node.matches(".folded"));
    const number = node.closest(".side").dataset.side;
    this.#lines.get(element).drawn = 0;
    this.#drawLine(element);
    const again = element.querySelector(`[data-side="${number}"] .tree [data-key="${key}"]`);
    if (again) moveTo(again);
  }

  /** Light up the mentions of the entity that is chosen, in a line or everywhere. */
  #pin(within = this.body) {
    const { chosen } = this.entities;
    for (const part of within.querySelectorAll(".pinned")) part.classList.remove("pinned");
    if (!chosen) return;
    const section = this.#sectionOf(chosen.text);
    const [own] = section.contains(within) ? [within] : [section];
    if (own === section && !within.contains(section)) return;
    for (const part of own.querySelectorAll(`[data-side="${chosen.side}"] [data-key]`))
      part.classList.toggle("pinned", chosen.keys.has(part.dataset.key));
  }

  #sectionOf(number) {
    return this.host.querySelector(`[data-text="${number}"]`);
  }

  #goToLine(number, at) {
    const element = this.#sectionOf(number).querySelectorAll(".line")[at];
    if (this.#lines.has(element)) this.#drawLine(element);
    // Lines above that are drawn later would push it out of view.
    do element.scrollIntoView({ block: "center" });
    while (this.#drawNear(element));
    return element;
  }

  /** Draw the lines near the view that are before and behind one in view; whether there were any. */
  #drawNear(element) {
    let any = false;
    for (const step of ["previousElementSibling", "nextElementSibling"]) {
      for (let line = element[step]; line; line = line[step]) {
        if (!this.#isNear(line)) break;
        const waiting = this.#lines.has(line) && this.#lines.get(line).drawn !== this.#generation;
        if (waiting) this.#drawLine(line);
        any ||= waiting;
      }
    }
    return any;
  }

  /** Lead to a mark or a link, and switch on its layer; one that is not drawn for another reason is
   * shown by its source, or by its line. */
  #go(number, sideNumber, item) {
    if (this.view.hidden.has(item.layer)) {
      this.view.reveal(item.layer);
      this.panel.tell();
      this.#changed();
    }
    const home = this.texts[number].sides[sideNumber].homeOf(item);
    const element = this.#goToLine(number, home);
    const keys = item.sourceMark ? [`l${item.at}`, `s${item.source}`] : [`s${item.at}`];
    const side = element.querySelector(`[data-side="${sideNumber}"]`);
    const shown = keys.map((key) => side?.querySelector(`.item[data-key="${key}"]`)).find(Boolean);
    if (shown) moveTo(shown);
  }
}
