/**
 * Arrows between boxes: how high they go, where their captions are.
 *
 * An arc goes up from a foot on each box and along a level line that carries its caption. Level
 * lines are higher than all boxes under them; the lines of two arcs that overlap from left to right
 * are at least STEP apart, so no caption covers a box, a word or another caption. A link from a mark
 * to itself (the root of a tree) comes straight from above.
 */

import { captionWidth, overlap } from "./measure.js";
import { feetOf } from "./arc_anchors.js";

export const STEP = 16; // between two level lines
export const HALF = 7; // of the height of a caption on a line
const RISE = 16; // from a box to the lowest line above it
const CLEAR = 2; // between what stands side by side

/**
 * @typedef {object} Arc  A link in one row.
 * @property {object} link
 * @property {string} caption
 * @property {?import("./arc_anchors.js").Foot} source  null at the free end, and of a link to itself.
 * @property {?import("./arc_anchors.js").Foot} target
 * @property {[number, number]} ends   Left and right of the level line.
 * @property {[number, number]} label  Left and right of the caption.
 * @property {[number, number]} reach  Of both.
 * @property {number} height
 * @property {number} free
 */

/**
 * Return the arcs of a row with their captions placed and their heights chosen.
 * @param {import("./boxes.js").Box[]} boxes
 * @param {import("./arc_anchors.js").Plan[]} plans
 * @returns {Arc[]}
 */
export function arcsOf(boxes, plans, fonts) {
  const feet = feetOf(boxes, plans);
  const arcs = plans.map((plan, at) => arcOf(plan, feet[at]));
  arcs.forEach((arc) => {
    const others = arcs.filter((other) => other !== arc).flatMap(legsOf);
    label(arc, others, captionWidth(arc.caption, fonts) / 2);
  });
  raise(boxes, arcs);
  return arcs;
}

function arcOf(plan, [source, target]) {
  const own = plan.source !== null && plan.source === plan.target;
  const xs = own ? [target.x] : [source?.x ?? plan.free, target?.x ?? plan.free];
  const ends = [Math.min(...xs), Math.max(...xs)];
  const { link, caption } = plan;
  return {
    link,
    caption,
    source,
    target,
    ends,
    label: ends,
    reach: ends,
    height: 0,
    free: plan.free,
  };
}

/** Put the caption where the fewest feet of other arcs go up, near the middle of the line. */
function label(arc, others, half) {
  const [left, right] = arc.ends;
  const middle = (left + right) / 2;
  const slack = Math.max(0, (right - left) / 2 - half - 4);
  const inside = others.filter((x) => left < x && x < right);
  let [best, least] = [0, Infinity];
  for (let part = 0; part <= 12 && least > 0; part += 1) {
    const shift = ((part % 2 ? -1 : 1) * slack * Math.ceil(part / 2)) / 6;
    const crossed = inside.filter((x) => Math.abs(x - middle - shift) < half).length;
    if (crossed < least) [best, least] = [shift, crossed];
  }
  const at = onPage(arc, middle + best, half);
  arc.label = [at - half, at + half];
  arc.reach = [Math.min(left, arc.label[0]), Math.max(right, arc.label[1])];
}

/** Return where the caption of an arc has its middle so that none of it is beyond the free end. */
function onPage({ source, target, free, ends: [left, right] }, middle, half) {
  const isWhole = (source && target) || left === right;
  if (isWhole) return middle;
  return free === right ? Math.min(middle, right - half) : Math.max(middle, left + half);
}

/** Give each arc the lowest line that is free, the shortest arcs first; one whose caption would hide
 * the leg of another late, and above that other. */
function raise(boxes, arcs) {
  const legs = arcs.flatMap(legsOf);
  const order = arcs.map((arc) => [hides(arc, legs), arc]);
  order.sort(([one, first], [other, second]) => one - other || length(first) - length(second));
  const placed = [];
  for (const [, arc] of order) {
    let height = 0;
    for (const box of boxes) {
      if (overlap(arc.reach, [box.left, box.right], CLEAR)) height = Math.max(height, box.top);
      else if (overlap(arc.reach, box.reach)) height = Math.max(height, box.bottom);
    }
    for (const foot of [arc.source, arc.target]) if (foot) height = Math.max(height, foot.y);
    height += RISE;
    for (const other of placed) {
      if (hides(arc, legsOf(other))) height = Math.max(height, other.height + STEP);
    }
    arc.height = freeLine(arc, placed, height);
    placed.push(arc);
  }
}

function freeLine(arc, placed, lowest) {
  const taken = placed.filter((other) => overlap(arc.reach, other.reach, CLEAR));
  const lines = taken.map((other) => other.height).sort((a, b) => a - b);
  let height = lowest;
  for (const line of lines) if (Math.abs(line - height) < STEP) height = line + STEP;
  return height;
}

function legsOf(arc) {
  return [arc.source, arc.target].filter(Boolean).map((foot) => foot.x);
}

/** Whether the caption stands over a leg that is not its own. */
function hides(arc, legs) {
  const own = legsOf(arc);
  return legs.some((x) => arc.label[0] < x && x < arc.label[1] && !own.includes(x));
}

function length(arc) {
  return arc.reach[1] - arc.reach[0];
}
