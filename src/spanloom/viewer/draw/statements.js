/** What a text says of a person or thing: the relations and roles that its mentions take part in. */

import { CLUSTERS, DEPENDENCY, TUPLES, wordsFor } from "./view_model.js";
import { nameOf } from "./layout.js";

const ALIKE = 0.5; // characters that two spans share, of those that either has
const LONGEST = 60; // letters of a text

/**
 * @typedef {object} Entity  What several mentions mean.
 * @property {import("./boxes.js").Mark[]} mentions
 * @property {string} name
 *
 * @typedef {object} Statement
 * @property {object} link
 * @property {string} said
 */

/**
 * Return the entities of a side, those with the most mentions first.
 * @param {import("./view_model.js").Side} side
 * @param {number[]} layers  The layers of clusters to look in.
 * @returns {Entity[]}
 */
export function entitiesOf(side, layers) {
  const clusters = new Map();
  for (const mark of side.marks) {
    if (mark.cluster === undefined || !layers.includes(mark.layer)) continue;
    const key = `${mark.layer} ${mark.cluster}`;
    if (!clusters.has(key)) clusters.set(key, []);
    clusters.get(key).push(mark);
  }
  const entities = [...clusters.values()].map((mentions) => {
    mentions.sort((one, other) => one.fragments[0][0] - other.fragments[0][0]);
    return { mentions, name: nameOf(side.text.points, clearest(side.text.points, mentions), LONGEST) };
  });
  return entities.sort((one, other) => other.mentions.length - one.mentions.length);
}

/** Return the mention that says most: the first with the most capital letters, else the longest. */
function clearest(points, mentions) {
  const textOf = ({ fragments: [[start, end]] }) => points.slice(start, end).join("");
  const capitals = (mark) => (textOf(mark).match(/(?<![\p{L}\p{N}])\p{Lu}\p{L}+/gu) ?? []).length;
  const rank = (mark) => [capitals(mark), Math.min(3, textOf(mark).split(/\s+/).length)];
  return mentions.reduce((best, mark) => {
    const [[one, length], [most, longest]] = [rank(mark), rank(best)];
    return one > most || (one === most && length > longest) ? mark : best;
  });
}

/**
 * Return what is said of an entity: each relation with a mention as an end, each role of a mention.
 * @param {import("./view_model.js").Side} side
 * @param {Entity} entity
 * @param {(layer: number) => boolean} counts  Whether a layer is to be believed.
 * @returns {Statement[]}
 */
export function statementsOf(side, entity, counts) {
  const seen = new Set();
  const statements = [];
  const links = entity.mentions.flatMap((mark) => linksNear(side, mark).map((link) => [mark, link]));
  for (const [mention, link] of links) {
    if (seen.has(link.at) || !counts(link.layer)) continue;
    const end = endOf(side, mention, link);
    if (!end) continue;
    seen.add(link.at);
    statements.push({ link, said: phrase(side, link, end) });
  }
  return statements.sort((one, other) => placeOf(one.link) - placeOf(other.link));
}

function placeOf(link) {
  return link.sourceMark.fragments[0][0];
}

/** Return the links of the lines of a mention that say something of the world. */
function linksNear(side, mark) {
  const links = side.homes[mark.at].flatMap((at) => side.lines[at].links);
  return links.filter(({ layer }) => ![CLUSTERS, DEPENDENCY].includes(side.shapes[layer]));
}

/** Return the end of a link that a mention is; of predicates only the arguments are looked at. */
function endOf(side, mention, link) {
  const ends = side.shapes[link.layer] === TUPLES ? ["target"] : ["source", "target"];
  return ends.find((end) => alike(mention, link[`${end}Mark`]));
}

/**
 * Whether two marks are nearly the same piece of text.
 * @param {{fragments: [number, number][]}} one
 * @param {{fragments: [number, number][]}} other
 */
export function alike(one, other) {
  const size = ({ fragments }) => fragments.reduce((sum, [start, end]) => sum + end - start, 0);
  let shared = 0;
  for (const [start, end] of one.fragments) {
    for (const [first, last] of other.fragments)
      shared += Math.max(0, Math.min(end, last) - Math.max(start, first));
  }
  return shared > 0 && shared >= ALIKE * (size(one) + size(other) - shared);
}

/** Say what a link says of one of its ends. */
function phrase(side, link, end) {
  const layer = side.text.layers[link.layer];
  const words = wordsFor(layer, link.label) ?? link.label;
  const other = nameOf(side.text.points, link[end === "target" ? "sourceMark" : "targetMark"], LONGEST);
  if (side.shapes[link.layer] === TUPLES) return `${other}: ${words}`;
  return end === "source" ? `${words} → ${other}` : `${other} → ${words}`;
}
