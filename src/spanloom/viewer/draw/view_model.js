/** What is to be drawn, line by line: the data with its references followed. */

import { nameOf } from "./layout.js";
import { visible } from "./text.js";
import { firstWhere } from "./words.js";

export const CONSTITUENTS = "constituents";
export const CLUSTERS = "clusters";
export const TUPLES = "tuples";
export const DEPENDENCY = "dependency";
const LONGEST_TEXT = 200; // letters of a text in what is said of it

/** Return what a label of a layer means in words, undefined where nobody says. */
export function wordsFor(layer, label) {
  return Object.hasOwn(layer.labels ?? {}, label) ? layer.labels[label] : undefined;
}

/** One document: its characters, its lines, its sides. */
export class Text {
  constructor(given, layers) {
    this.layers = layers;
    this.name = given.name;
    this.notes = given.notes;
    this.lines = given.lines;
    this.points = Array.from(given.text);
    this.sides = given.sides.map((side) => new Side(side, this, layers));
  }

  /** Return the characters of a line. */
  line(at) {
    const [start, end] = this.lines[at];
    return this.points.slice(start, end).join("");
  }

  /** Whether a line is blank, and nothing is said of it. */
  isBare(at) {
    const marked = this.sides.some((side) => side.lines[at].marks.length);
    return !marked && !this.line(at).trim();
  }

  /** Return the line that a character stands in. */
  lineOf(point) {
    return Math.max(0, firstWhere(this.lines, ([start]) => start > point) - 1);
  }

  /** Whether anything in a line differs between the sides, in layers that are shown. */
  differs(at, view) {
    return this.sides.some((side) => side.differs(at, view));
  }

  /** Return what is said of a mark or a link, a line each: label, meaning, layer, score. */
  describe(item) {
    const layer = this.layers[item.layer];
    const words = wordsFor(layer, item.label);
    const name = `${item.label}${words ? ` (${words})` : ""}: ${this.meaning(item)}`;
    const score = item.score === undefined ? [] : [`score ${item.score.toFixed(3)}`];
    const source = [`layer ${layer.name}`, item.id, ...score].join(", ");
    return [name, source, ...(item.about ?? [])].map(visible);
  }

  /** Return the text of a mark, or those of the ends of a link. */
  meaning(item) {
    if (!item.sourceMark) return nameOf(this.points, item, LONGEST_TEXT);
    const [source, target] = [item.sourceMark, item.targetMark];
    const arrow = item.undirected ? "–" : "→";
    return `“${nameOf(this.points, source)}” ${arrow} “${nameOf(this.points, target)}”`;
  }
}

/** One annotation of a text. */
export class Side {
  constructor(given, text, layers) {
    this.text = text;
    this.loose = given.loose;
    this.shapes = layers.map((layer) => layer.shape);
    this.marks = given.spans.map((span, at) => ({ ...span, at }));
    this.links = given.links.map((link, at) => {
      const ends = { sourceMark: this.marks[link.source], targetMark: this.marks[link.target] };
      return { ...link, ...ends, at };
    });
    this.lines = text.lines.map(() => ({ marks: [], links: [] }));
    this.homes = this.marks.map((mark) => this.#place(mark));
    for (const link of this.links) this.#connect(link);
  }

  /** Put a mark into its lines, and return them. */
  #place(mark) {
    const home = new Set();
    for (const [start, end] of mark.fragments) {
      const last = this.text.lineOf(Math.max(start, end - 1));
      for (let at = this.text.lineOf(start); at <= last; at += 1) home.add(at);
    }
    for (const at of home) this.lines[at].marks.push(mark);
    return [...home].sort((one, other) => one - other);
  }

  /** Put a link into the line of both its ends, else into the first line of each. */
  #connect(link) {
    const [heads, tails] = [this.homes[link.source], this.homes[link.target]];
    const both = heads.find((at) => tails.includes(at));
    for (const at of both === undefined ? [heads[0], tails[0]] : [both])
      this.lines[at].links.push(link);
  }

  /** Whether anything in a line is unlike the other side, in layers that are shown. */
  differs(at, view) {
    const { marks, links } = this.lines[at];
    return [...marks, ...links].some((item) => item.state && !view.hidden.has(item.layer));
  }

  /** Return the line in which a mark or a link begins. */
  homeOf(item) {
    return this.homes[item.sourceMark ? item.source : item.at][0];
  }

  /** Return the marks of a line that stand as boxes over the text. */
  boxed(at, view) {
    return this.lines[at].marks.filter((mark) => !this.#is(mark, CONSTITUENTS) && view.shows(mark));
  }

  /** Return the links of a line that are drawn as arcs; a cluster has a colour instead. */
  arched(at, view) {
    return this.lines[at].links.filter((link) => !this.#is(link, CLUSTERS) && view.shows(link));
  }

  /** Return the outermost constituents that begin in a line, and what is in each constituent. */
  trees(at, view) {
    const roots = [];
    const children = new Map();
    const open = this.lines[at].marks.filter((mark) => this.#is(mark, CONSTITUENTS));
    for (const mark of open.filter((candidate) => view.shows(candidate))) {
      const above = this.#above(mark, view);
      if (above === null) roots.push(mark);
      else if (children.has(above)) children.get(above).push(mark);
      else children.set(above, [mark]);
    }
    return { roots: roots.filter((mark) => this.homes[mark.at][0] === at), children };
  }

  /** Return the place of the nearest constituent above that is shown. */
  #above(mark, view) {
    let above = mark.parent;
    while (above !== undefined && !view.shows(this.marks[above])) above = this.marks[above].parent;
    return above ?? null;
  }

  /** Return the predicates that begin in a line, by their layers, each with what leads from it. */
  tuples(at, view) {
    const layers = new Map();
    for (const link of this.lines[at].links) {
      const here = this.#is(link, TUPLES) && this.homes[link.source][0] === at;
      if (!here || !view.shows(link)) continue;
      if (!layers.has(link.layer)) layers.set(link.layer, new Map());
      const bySource = layers.get(link.layer);
      if (!bySource.has(link.source)) bySource.set(link.source, [link.sourceMark, []]);
      bySource.get(link.source)[1].push(link);
    }
    return [...layers].map(([layer, bySource]) => [layer, [...bySource.values()]]);
  }

  #is(item, shape) {
    return this.shapes[item.layer] === shape;
  }

  /** Return the keys of what belongs to an item: its cluster, its arrows, its ends. */
  kin(key) {
    const at = Number(key.slice(1));
    if (key[0] === "l") return [key, `s${this.links[at].source}`, `s${this.links[at].target}`];
    const { cluster, layer } = this.marks[at];
    if (cluster !== undefined) {
      const same = this.marks.filter((mark) => mark.cluster === cluster && mark.layer === layer);
      return same.map((mark) => `s${mark.at}`);
    }
    const touching = this.links.filter((link) => link.source === at || link.target === at);
    return [key, ...touching.map((link) => `l${link.at}`)];
  }
}
