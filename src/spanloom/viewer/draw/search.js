/** Search within the texts: what is found is marked, and the reader goes from one to the next. */

import { html } from "./dom.js";
import { placesOf } from "./find.js";
import { firstWhere } from "./words.js";

const PAUSE = 200; // milliseconds after the last letter

export class Search {
  #found = []; // {text, place} in order
  #at = -1;

  /**
   * @param {Document} page
   * @param {import("./view_model.js").Text[]} texts
   * @param {{changed: () => void, go: (text: number, line: number) => void}} heard
   */
  constructor(page, texts, heard) {
    Object.assign(this, { texts, heard });
    this.places = texts.map(() => []);
    this.input = html(page, "input", { type: "search", "aria-label": "search the text" });
    this.input.placeholder = "search";
    this.output = html(page, "output", {});
    this.element = html(page, "div", { class: "search", role: "search" }, this.input, this.output);
    let timer = 0;
    this.input.addEventListener("input", () => {
      page.defaultView.clearTimeout(timer);
      timer = page.defaultView.setTimeout(() => this.#look(), PAUSE);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.#step(event.shiftKey ? -1 : 1);
    });
  }

  #look() {
    const wanted = this.input.value.trim();
    this.places = this.texts.map((text) => placesOf(text.points, wanted));
    this.#found = this.places.flatMap((places, text) => places.map((place) => ({ text, place })));
    this.#at = -1;
    this.heard.changed();
    if (this.#found.length) this.#step(1);
    else this.output.textContent = wanted ? "not found" : "";
  }

  #step(step) {
    if (!this.#found.length) return;
    const count = this.#found.length;
    this.#at = (this.#at + step + count) % count;
    const { text, place } = this.#found[this.#at];
    this.output.textContent = `${(this.#at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
    this.heard.changed();
    this.heard.go(text, this.texts[text].lineOf(place[0]));
  }

  /** Return what was found in a line of a text, each with whether it is the one gone to. */
  within(text, [start, end]) {
    const places = this.places[text];
    const first = firstWhere(places, (place) => place[1] > start);
    const last = firstWhere(places, (place) => place[0] >= end);
    const current = this.#found[this.#at]?.place;
    return places.slice(first, last).map((place) => ({ place, current: place === current }));
  }
}
