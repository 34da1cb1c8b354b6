/** The words of a line: runs of characters without blanks. */

import { isBackward, letters, signOf } from "./text.js";

/**
 * @typedef {object} Word  It shows the characters [start, end) of the text.
 * @property {number} start
 * @property {number} end
 * @property {string[]} signs      What is shown of each character.
 * @property {string} text         All signs together.
 * @property {number} width
 * @property {?boolean} backward   Whether it runs from right to left; null without letters.
 */

const BLANK = /^\p{Zs}$/u;
const BREAK = /^[\t\r\v\f\x1c-\x1f\x85\u2028\u2029]$/; // shown by a sign, each a word of its own
const JOINER = "\u200d";

/**
 * Return the words of the characters [start, end); without any, one empty word at their start.
 * @param {string[]} points  The characters of the text.
 * @param {(text: string) => number} ruler
 * @param {number} limit     A wider word is cut, never inside a letter.
 * @returns {Word[]}
 */
export function wordsOf(points, [start, end], ruler, limit) {
  const words = [];
  for (const [first, last] of runs(points, start, end)) {
    words.push(...cut(points, first, last, ruler, limit));
  }
  return words.length ? words : [wordOf(points, start, start, ruler)];
}

function* runs(points, start, end) {
  let first = start;
  for (let at = start; at <= end; at += 1) {
    const single = at < end && BREAK.test(points[at]);
    if (at < end && !single && !BLANK.test(points[at])) continue;
    if (first < at) yield [first, at];
    if (single) yield [at, at + 1];
    first = at + 1;
  }
}

function* cut(points, start, end, ruler, limit) {
  const word = wordOf(points, start, end, ruler);
  if (word.width <= limit) {
    yield word;
    return;
  }
  let [first, at, used] = [start, start, 0];
  for (const letter of letters(points.slice(start, end).join(""))) {
    const signs = Array.from(letter, signOf);
    const width = ruler(signs.join(""));
    if (used + width > limit && first < at) {
      yield wordOf(points, first, at, ruler);
      [first, used] = [at, 0];
    }
    at += signs.length;
    used += width;
  }
  yield wordOf(points, first, end, ruler);
}

function wordOf(points, start, end, ruler) {
  const signs = points.slice(start, end).map(signOf);
  const text = signs.join("");
  return { start, end, signs, text, width: ruler(text), backward: isBackward(signs) };
}

/**
 * Return how far into a word a character of the text stands, cut to the word.
 * @param {Word} word
 * @param {number} point
 * @param {(text: string) => number} ruler
 */
export function offsetIn(word, point, ruler) {
  if (point <= word.start) return 0;
  if (point >= word.end) return word.width;
  let count = point - word.start;
  // A joiner gives an emoji behind it no width of its own, so it belongs to what is before it.
  while (word.signs[count - 1] === JOINER) count -= 1;
  return Math.min(word.width, ruler(word.signs.slice(0, count).join("")));
}

/**
 * Return the words [first, last) that share a character with [start, end).
 * @param {Word[]} words
 */
export function wordRange(words, start, end) {
  const first = firstWhere(words, (word) => word.end > start);
  return [
    first,
    Math.max(
      first,
      firstWhere(words, (word) => word.start >= end),
    ),
  ];
}

/**
 * Return the place of the first item that passes, where all behind it pass too.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => boolean} passes
 */
export function firstWhere(items, passes) {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(items[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}
