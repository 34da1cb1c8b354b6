/**
 * Captions over the text: how wide, where, and how high they are stacked.
 *
 * Heights are pixels above the top of the text and grow upward. A box is a caption with a bar under
 * it for each piece of its mark; it stands above every box that it overlaps from left to right, so a
 * span stands above the spans nested in it. A bare mark (a word of a tree) is only where arcs stand.
 */

import { captionWidth, overlap } from "./measure.js";
import { BETWEEN, extentOf, holds } from "./rows.js";
import { visible } from "./text.js";
import { firstWhere, wordRange } from "./words.js";

export const LEVEL = 22; // from a box to the box above it
export const BAR = 5; // height of the bar under a caption
export const CAPTION = 15; // height of a caption
const GLUED = 8; // a span of more words may be torn apart at the end of a row
const ASIDE = 5; // from a box to an arrow that leaves it at its side
const TURNS = 24; // what a link needs beside its caption to go up and down

/**
 * @typedef {object} Mark  A span of the data, with its place among them as `at`.
 * @typedef {object} Box   A mark in one row.
 * @property {Mark} mark
 * @property {string} caption
 * @property {number} left
 * @property {number} right
 * @property {[number, number][]} pieces  Left and right of the pieces of text it is about.
 * @property {[number, number]} reach     Of the caption and all pieces.
 * @property {number} level
 * @property {number} bottom  Height of the lower edge of the caption.
 * @property {number} top     Height of its upper edge.
 */

/** Return what stands over a mark: its caption; nothing over a bare one. */
export function captionOf(item) {
  return item.bare ? "" : visible(item.caption ?? item.label);
}

/**
 * Fill in the room that captions, and captions of links between neighbours, need between words.
 * @param {import("./rows.js").Demand} demand
 */
export function ask(demand, words, marks, links, fonts) {
  const anchors = new Map();
  const places = new Map();
  for (const mark of marks) places.set(placeOf(mark), (places.get(placeOf(mark)) ?? 0) + 1);
  for (const mark of marks) {
    const anchor = askForMark(demand, words, mark, places.get(placeOf(mark)) > 1, fonts);
    if (anchor) anchors.set(mark.at, anchor);
  }
  for (const link of links) {
    const [one, other] = [anchors.get(link.source), anchors.get(link.target)];
    if (one && other && one !== other) askForLink(demand, one, other, link, fonts);
  }
}

function placeOf({ fragments }) {
  return fragments.join(";");
}

/** Ask for a mark; arrows leave it at its sides where it is `covered` by others. */
function askForMark(demand, words, mark, covered, fonts) {
  const [start, end] = mark.fragments[0];
  let [first, last] = wordRange(words, start, end);
  last = Math.max(first, last - 1);
  if (last >= words.length) return null;
  const width = captionWidth(captionOf(mark), fonts);
  const [left, right] = [words[first], words[last]];
  let held = 0;
  for (let at = first; at <= last; at += 1) held += words[at].width;
  const over = Math.max(0, (width - held) / 2);
  const before = start > left.start ? (left.width * (start - left.start)) / left.signs.length : 0;
  const behind = end < right.end ? (right.width * (right.end - end)) / right.signs.length : 0;
  const narrow = Math.max(0, (before + behind) / 2);
  demand.beside(first, Math.max(0, over + narrow - before), 0);
  demand.beside(last, 0, Math.max(0, over + narrow - behind));
  if (last - first < GLUED) for (let at = first + 1; at <= last; at += 1) demand.glued.add(at);
  const half = Math.min(width, held) / 2;
  return { first, last, half: covered ? Math.min(half, (held - width) / 2 - ASIDE) : half };
}

function askForLink(demand, one, other, link, fonts) {
  const [near, far] = one.first <= other.first ? [one, other] : [other, one];
  if (near.last >= far.first) return;
  const room = captionWidth(captionOf(link), fonts) + TURNS - near.half - far.half;
  demand.between(near.last, far.first, Math.max(0, room));
}

/**
 * Return the boxes of every row, each at its level.
 * @returns {Box[][]}
 */
export function boxesOf(rows, marks, fonts) {
  const byRow = rows.map(() => []);
  for (const mark of marks) {
    for (const [at, pieces] of piecesOf(rows, mark, fonts)) {
      byRow[at].push(boxOf(mark, pieces, rows[at], fonts));
    }
  }
  return byRow.map(stack);
}

/** Return the extents of a mark by row; blanks at a row's border do not count as a piece. */
function piecesOf(rows, mark, fonts) {
  const extents = new Map();
  for (const [start, end] of mark.fragments) {
    if (end < rows[0].start || start > rows.at(-1).end) continue;
    for (const at of heldIn(rows, start, end)) {
      if (!extents.has(at)) extents.set(at, []);
      extents.get(at).push(extentOf(rows[at], start, end, fonts.text));
    }
  }
  return extents;
}

function heldIn(rows, start, end) {
  const home = Math.max(0, firstWhere(rows, (row) => row.start > start) - 1);
  const past = Math.max(
    home + 1,
    firstWhere(rows, (row) => row.start > end - 1),
  );
  const held = [];
  for (let at = home; at < past; at += 1) if (holds(rows[at], start, end)) held.push(at);
  return held.length ? held : [home];
}

/** Return a box whose caption is centred over its first piece, `…` where the mark goes on. */
function boxOf(mark, pieces, row, fonts) {
  const before = mark.fragments.some(([start]) => start < row.start);
  const behind = mark.fragments.some(([, end]) => end > row.end);
  const text = captionOf(mark);
  const caption = text && `${before ? "…" : ""}${text}${behind ? "…" : ""}`;
  const [start, end] = pieces[0];
  const margin = Math.max(captionWidth(caption, fonts), mark.bare ? 0 : 8) / 2;
  const [left, right] = [(start + end) / 2 - margin, (start + end) / 2 + margin];
  pieces.sort((one, other) => one[0] - other[0]);
  const reach = [Math.min(left, pieces[0][0]), Math.max(right, ...pieces.map((piece) => piece[1]))];
  return { mark, caption, left, right, pieces, reach, level: 0, bottom: 0, top: 0 };
}

/** Give each box a level above all boxes that it overlaps, the narrowest first. */
function stack(boxes) {
  const placed = [];
  const breadth = (box) => box.pieces.reduce((sum, [left, right]) => sum + right - left, 0);
  const order = boxes.map((box) => [breadth(box), box]);
  order.sort(([size, box], [other, next]) => size - other || box.left - next.left);
  for (const [, box] of order) {
    if (!box.mark.bare) raise(box, placed);
  }
  return boxes;
}

function raise(box, placed) {
  for (const other of placed) {
    if (box.level <= other.level && collide(box, other)) box.level = other.level + 1;
  }
  box.bottom = box.level * LEVEL + BAR;
  box.top = box.bottom + CAPTION;
  placed.push(box);
}

function collide(one, other) {
  const captions = overlap([one.left, one.right], [other.left, other.right], BETWEEN / 2);
  return captions || overlap(one.reach, other.reach);
}
