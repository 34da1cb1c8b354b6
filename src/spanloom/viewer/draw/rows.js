/**
 * Words set in rows: where every word stands, given how much room its annotation needs.
 *
 * Words stand in the order they are read: a row that reads from right to left starts at its right
 * end, and a run of words of the other direction is set the other way round.
 */

import { firstWhere, offsetIn, wordRange } from "./words.js";

export const BETWEEN = 6; // least gap between two captions side by side
const MOST_BLANKS = 25; // that blanks in a row may take, in blanks

/**
 * @typedef {object} Row  It holds the characters [start, end), blanks at its end too.
 * @property {number} start
 * @property {number} end
 * @property {import("./words.js").Word[]} words
 * @property {number[]} xs     The left of each word.
 * @property {number} width
 * @property {boolean} backward
 */

/** Room that annotation needs: beside words, and between two words. */
export class Demand {
  constructor() {
    this.left = new Map();
    this.right = new Map();
    this.apart = new Map();
    this.glued = new Set(); // a row does not break before such a word if it can break earlier
  }

  /** Ask for room at the two sides of a word. */
  beside(word, left, right) {
    this.left.set(word, Math.max(left, this.left.get(word) ?? 0));
    this.right.set(word, Math.max(right, this.right.get(word) ?? 0));
  }

  /** Ask for room between two words, whichever of them stands first. */
  between(one, other, room) {
    for (const [here, there] of [
      [one, other],
      [other, one],
    ]) {
      if (!this.apart.has(here)) this.apart.set(here, []);
      this.apart.get(here).push([there, room]);
    }
  }
}

/**
 * Fill rows of at most `width` pixels, broken at blanks.
 * @param {import("./words.js").Word[]} words  Of one line, at least one.
 * @param {Demand} demand
 * @param {{width: number, end: number, space: number}} line
 * @returns {Row[]}
 */
export function rowsOf(words, demand, line) {
  const backward = words.find((word) => word.backward !== null)?.backward ?? false;
  const rows = [];
  for (let first = 0; first < words.length;) {
    const last = breakOf(words, first, demand, line);
    const end = last < words.length ? words[last].start : line.end;
    rows.push(set(words, [first, last], end, { demand, backward, space: line.space }));
    first = last;
  }
  return rows;
}

function breakOf(words, first, demand, line) {
  const last = fill(words, first, demand, line);
  if (last === words.length) return last;
  for (let at = last; at > first; at -= 1) {
    if (!demand.glued.has(at)) return at;
  }
  return last;
}

/** Return the first word behind `first` that has no room in its row. */
function fill(words, first, demand, line) {
  const ends = new Map();
  for (let at = first; at < words.length; at += 1) {
    const x = place(words, at, ends.size ? at - 1 : null, ends, { demand, space: line.space });
    ends.set(at, x + words[at].width);
    const right = ends.get(at) + (demand.right.get(at) ?? 0);
    if (at > first && right > line.width) return at;
  }
  return words.length;
}

/** Return the left of a word that stands next to the word `before` (null: in front). */
function place(words, at, before, ends, { demand, space }) {
  const left = demand.left.get(at) ?? 0;
  if (before === null) return left;
  const beside = (demand.right.get(before) ?? 0) + left;
  const room = Math.max(blanks(words, before, at, space), beside ? beside + BETWEEN : 0);
  let x = ends.get(before) + room;
  for (const [other, apart] of demand.apart.get(at) ?? []) {
    if (ends.has(other)) x = Math.max(x, ends.get(other) + apart);
  }
  return x;
}

/** Return the width of blanks between words; where only a turn brings them together, of one. */
function blanks(words, one, other, space) {
  if (Math.abs(one - other) > 1) return space;
  const [first, last] = [Math.min(one, other), Math.max(one, other)];
  return Math.min(words[last].start - words[first].end, MOST_BLANKS) * space;
}

/** Place the words of one row in the order they are seen. */
function set(words, [first, last], end, setting) {
  const [lefts, ends] = [new Map(), new Map()];
  let before = null;
  for (const at of seenOrder(words.slice(first, last), setting.backward)) {
    const word = first + at;
    lefts.set(word, place(words, word, before, ends, setting));
    ends.set(word, lefts.get(word) + words[word].width);
    before = word;
  }
  const held = words.slice(first, last);
  const xs = held.map((_, at) => lefts.get(first + at));
  const width = Math.max(...ends.values());
  const { backward, space } = setting;
  return { start: held[0].start, end, words: held, xs, width, backward, space };
}

/** Return words from left to right: two levels of the Unicode bidirectional algorithm. */
function seenOrder(words, backward) {
  const ways = waysOf(words, backward);
  const runs = [];
  ways.forEach((way, at) => {
    if (at && ways[at - 1] === way) runs.at(-1).push(at);
    else runs.push([at]);
  });
  const seen = runs.flatMap((run) => (ways[run[0]] === backward ? run : run.reverse()));
  return backward ? seen.reverse() : seen;
}

/** Return the way of each word; one without letters goes with its line, a number behind a word
 * that reads from left to right with that word. */
function waysOf(words, backward) {
  const ways = [];
  for (const word of words) {
    const number = ways.at(-1) === false && /\p{Nd}/u.test(word.text);
    ways.push(word.backward ?? (number ? false : backward));
  }
  return ways;
}

/**
 * Return left and right of the characters [start, end) cut to a row.
 * @param {Row} row
 * @returns {[number, number]}
 */
export function extentOf(row, start, end, ruler) {
  const [first, last] = wordRange(row.words, start, end);
  if (first >= last) return gapOf(row, start, end, ruler);
  const ends = [];
  for (let at = first; at < last; at += 1) ends.push(...inside(row, at, start, end, ruler));
  return [Math.min(...ends), Math.max(...ends)];
}

/** Whether any character of [start, end) is shown in a row. */
export function holds(row, start, end) {
  const [first, last] = wordRange(row.words, start, end);
  return first < last;
}

function inside(row, at, start, end, ruler) {
  const [word, x] = [row.words[at], row.xs[at]];
  const [one, other] = [offsetIn(word, start, ruler), offsetIn(word, end, ruler)];
  if (word.backward) return [x + word.width - other, x + word.width - one];
  return [x + one, x + other];
}

/** Return where characters between words stand: right behind the word before them. */
function gapOf(row, start, end, ruler) {
  const at = firstWhere(row.words, (word) => word.start > start) - 1;
  if (at < 0) return [row.xs[0], row.xs[0]];
  const word = row.words[at];
  const point = Math.min(start, word.end);
  const [edge] = inside(row, at, point, point, ruler);
  const before = Math.min(start - point, MOST_BLANKS) * row.space;
  const width = Math.min(end - start, MOST_BLANKS) * row.space;
  return word.backward
    ? [edge - before - width, edge - before]
    : [edge + before, edge + before + width];
}
