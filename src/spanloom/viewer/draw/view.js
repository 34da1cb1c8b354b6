/** What the reader wants to see: one analysis or all, layers on and off, the least score. */

import { CLUSTERS } from "./view_model.js";

export const ALL = "all"; // the key of all analyses together

/**
 * @typedef {object} Offers  Layers that the reader can ask for, drawn or not.
 * @property {{key: string, title: string, about: string}[]} analyses  All that there are.
 * @property {object[]} layers  As those of the data, without shape; `absent` where nobody looked.
 *
 * @typedef {object} State  What the reader chose, kept for the next drawing.
 * @property {Map<string, boolean>} chosen  Layers that were switched, and whether they are on.
 * @property {?string} analysis
 */

export class View {
  /**
   * @param {object} data  As viewer/data.py makes it.
   * @param {State} state
   * @param {?Offers} offers
   */
  constructor(data, state = { chosen: new Map(), analysis: null }, offers = null) {
    this.layers = joined(data.layers, offers?.layers ?? []);
    const used = new Set(this.layers.map((layer) => layer.analysis));
    this.analyses = (offers ?? data).analyses.filter(({ key }) => used.has(key));
    this.state = state;
    this.least = -Infinity;
    this.singletons = data.sides.length > 1; // a mention that is missing may be one
    const keys = this.analyses.map(({ key }) => key);
    if (![...keys, ALL].includes(state.analysis)) state.analysis = this.#first() ?? keys[0] ?? ALL;
    this.#settle();
  }

  /** The key of the analysis that is shown, or ALL. */
  get analysis() {
    return this.state.analysis;
  }

  #first() {
    const sure = this.layers.filter((layer) => !layer.absent && this.isOn(layer));
    return this.analyses.find(({ key }) => sure.some((layer) => layer.analysis === key))?.key;
  }

  /** Whether a layer is on where its analysis is shown. */
  isOn({ name, aside, doubt }) {
    return this.state.chosen.get(name) ?? !(aside || doubt);
  }

  /** Return the places of the layers of what is shown, whether they are on or not. */
  listed(analysis = this.analysis) {
    const places = [...this.layers.keys()];
    return places.filter((at) => [ALL, this.layers[at].analysis].includes(analysis));
  }

  /** Show an analysis; its first layer is switched on if none is. Returns what nobody looked for. */
  choose(analysis) {
    this.state.analysis = analysis;
    const layers = this.listed().map((at) => this.layers[at]);
    if (analysis !== ALL && !layers.some((layer) => this.isOn(layer)))
      this.state.chosen.set(layers[0].name, true);
    this.#settle();
    return this.#wanted();
  }

  /** Switch a layer on or off. Returns the names of layers that nobody looked for yet. */
  toggle(at) {
    const layer = this.layers[at];
    this.state.chosen.set(layer.name, !this.isOn(layer));
    this.#settle();
    return this.#wanted();
  }

  /** Have a layer shown, wherever the reader is. */
  reveal(at) {
    const layer = this.layers[at];
    this.state.chosen.set(layer.name, true);
    if (this.analysis !== ALL) this.state.analysis = layer.analysis;
    this.#settle();
  }

  #settle() {
    const shown = new Set(this.listed().filter((at) => this.isOn(this.layers[at])));
    this.hidden = new Set([...this.layers.keys()].filter((at) => !shown.has(at)));
  }

  #wanted() {
    const missing = this.layers.filter((layer, at) => layer.absent && !this.hidden.has(at));
    return missing.map((layer) => layer.name);
  }

  /** Whether a mark or a link is shown; a link is where its ends are. */
  shows(item, least = this.least) {
    if (this.hidden.has(item.layer) || item.score < least) return false;
    if (!this.singletons && this.isSingleton(item)) return false;
    const ends = item.sourceMark ? [item.sourceMark, item.targetMark] : [];
    return ends.every((end) => this.shows(end, least));
  }

  /** Whether a mark is a mention of something that is mentioned once. */
  isSingleton(item) {
    const clustered = this.layers[item.layer].shape === CLUSTERS && !item.sourceMark;
    return clustered && item.cluster === undefined;
  }
}

/** Return the layers of the data, with what the offers know of them, then the other offers. */
function joined(layers, offers) {
  const known = new Map(offers.map((offer) => [offer.name, offer]));
  const names = new Set(layers.map(({ name }) => name));
  const drawn = layers.map((layer) => ({ ...layer, ...known.get(layer.name), absent: false }));
  return [...drawn, ...offers.filter(({ name }) => !names.has(name))];
}
