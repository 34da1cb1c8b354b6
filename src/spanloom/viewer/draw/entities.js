/** Beside coreference: a list of what is mentioned; a click lights up its mentions and tells of it. */

import { quantity } from "./counts.js";
import { html } from "./dom.js";
import { entitiesOf, statementsOf } from "./statements.js";
import { visible } from "./text.js";
import { CLUSTERS } from "./view_model.js";

const MOST = 60; // entities that are listed before the reader asks for the others

/** The list; one entity of it may be chosen. */
export class Entities {
  /**
   * @param {Document} page
   * @param {import("./view_model.js").Text[]} texts
   * @param {import("./view.js").View} view
   * @param {object} heard
   * @param {(text: number, line: number) => void} heard.goToLine
   * @param {() => void} heard.lit  Another entity is chosen, or none.
   */
  constructor(page, texts, view, heard) {
    Object.assign(this, { page, texts, view, heard });
    this.chosen = null; // {text, side, keys}
    this.element = html(page, "section", { class: "entities", "aria-label": "entities" });
    this.tell();
  }

  /** List the entities of the layers that are shown. */
  tell() {
    const { view, texts } = this;
    this.chosen = null;
    const clusters = [...view.layers.keys()].filter(
      (at) => view.layers[at].shape === CLUSTERS && !view.hidden.has(at),
    );
    const entries = clusters.length
      ? texts.flatMap((text, number) =>
          text.sides.flatMap((side, at) =>
            entitiesOf(side, clusters).map((entity) => ({ entity, side, text: number, at })),
          ),
        )
      : [];
    this.element.hidden = !entries.length;
    const title = html(this.page, "h2", {}, quantity(entries.length, "entity", "entities"));
    this.element.replaceChildren(title, this.#list(entries));
  }

  #list(entries) {
    const list = html(this.page, "ul", {});
    list.append(...entries.slice(0, MOST).map((entry) => this.#item(entry)));
    if (entries.length > MOST) {
      const count = `${(entries.length - MOST).toLocaleString("en")} more`;
      const more = html(this.page, "button", { type: "button" }, count);
      more.addEventListener("click", () => {
        more.parentNode.replaceWith(...entries.slice(MOST).map((entry) => this.#item(entry)));
      });
      list.append(html(this.page, "li", {}, more));
    }
    return list;
  }

  #item(entry) {
    const { page } = this;
    const { entity } = entry;
    const name = { class: `name c${entity.mentions[0].color}`, dir: "auto" };
    const whose = this.texts[0].sides.length > 1 ? ` ${["gold", "predicted"][entry.at]}` : "";
    const count = html(page, "small", {}, ` ${quantity(entity.mentions.length, "mention")}${whose}`);
    const button = html(page, "button", { type: "button", "aria-expanded": "false" });
    button.append(html(page, "span", name, visible(entity.name)), count);
    const item = html(page, "li", {}, button);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      this.#close();
      if (open) return;
      button.setAttribute("aria-expanded", "true");
      item.append(this.#told(entry));
      this.#choose(entry);
    });
    return item;
  }

  #close() {
    for (const open of this.element.querySelectorAll('[aria-expanded="true"]')) {
      open.setAttribute("aria-expanded", "false");
      open.nextElementSibling?.remove();
    }
    this.chosen = null;
    this.heard.lit();
  }

  #choose({ entity, text, at, side }) {
    this.chosen = { text, side: at, keys: new Set(entity.mentions.map((mark) => `s${mark.at}`)) };
    this.heard.goToLine(text, side.homeOf(entity.mentions[0]));
    this.heard.lit();
  }

  /** Return what is said of an entity, each with a click that leads there. */
  #told({ entity, side, text }) {
    const { page, view } = this;
    const believed = (layer) => !view.layers[layer].doubt || view.isOn(view.layers[layer]);
    const rows = statementsOf(side, entity, believed).map(({ link, said }) => {
      const name = visible(view.layers[link.layer].name);
      const button = html(page, "button", { type: "button", dir: "auto" }, visible(said));
      button.append(html(page, "small", {}, ` ${name}`));
      button.addEventListener("click", () => this.heard.goToLine(text, side.homeOf(link)));
      return html(page, "li", {}, button);
    });
    const nothing = html(page, "li", {}, html(page, "small", {}, "nothing else is said of it"));
    return html(page, "ul", { class: "said" }, ...(rows.length ? rows : [nothing]));
  }
}
