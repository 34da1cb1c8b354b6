/** Where arrows stand on boxes: side by side, on a way up that no other caption blocks. */

import { CAPTION } from "./boxes.js";
import { overlap } from "./measure.js";

const TOE = 9; // between two feet on one box
const APART = 4; // between a leg that had to move aside and any other
const CLEAR = 3; // between a leg and a caption
const ASIDE = [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80]; // how far a leg may move

/**
 * @typedef {object} Plan  An arc before its feet are placed.
 * @property {object} link
 * @property {string} caption
 * @property {?number} source  The box it leaves, null if that is in another row.
 * @property {?number} target
 * @property {number} free     Where it ends if a box is null.
 *
 * @typedef {object} Foot
 * @property {number} x
 * @property {number} y
 * @property {?number} side  Where a side step starts, if the box is covered by others.
 */

/**
 * Return the feet of each plan, as [of its source, of its target].
 * @param {import("./boxes.js").Box[]} boxes
 * @param {Plan[]} plans
 * @returns {[?Foot, ?Foot][]}
 */
export function feetOf(boxes, plans) {
  const byBox = new Map();
  plans.forEach((plan, at) => {
    for (const end of endsOf(plan, at, boxes)) {
      if (!byBox.has(end.box)) byBox.set(end.box, []);
      byBox.get(end.box).push(end);
    }
  });
  const feet = plans.map(() => [null, null]);
  const used = [];
  for (const [box, ends] of byBox) {
    ends.sort(inToeOrder);
    const step = Math.min(TOE, (boxes[box].right - boxes[box].left) / (ends.length + 1));
    ends.forEach((end, rank) => {
      const x = centreOf(boxes[box]) + (rank - (ends.length - 1) / 2) * step;
      const foot = footOn(boxes, boxes[box], x, used);
      used.push(foot.x);
      feet[end.plan][end.side] = foot;
    });
  }
  return feet;
}

/** Return the ends of a plan that stand on a box, each with the way its line goes from there. */
function endsOf(plan, at, boxes) {
  const ends = [];
  [
    [plan.source, plan.target],
    [plan.target, plan.source],
  ].forEach(([box, other], side) => {
    if (box === null || (side === 0 && plan.source === plan.target)) return;
    const far = other === null ? plan.free : centreOf(boxes[other]);
    ends.push({ box, plan: at, side, way: far - centreOf(boxes[box]) });
  });
  return ends;
}

/** The middle of a box. */
export function centreOf(box) {
  return (box.left + box.right) / 2;
}

/** Order ends so that arcs of one box do not cross: the shortest outside, on both sides. */
function inToeOrder(one, other) {
  return Math.sign(one.way) - Math.sign(other.way) || other.way - one.way || one.plan - other.plan;
}

function footOn(boxes, box, x, used) {
  if (box.mark.bare) return { x, y: highestOver(boxes, x), side: null };
  for (const away of ASIDE) {
    for (const tried of away ? [x - away, x + away] : [x]) {
      const beside = away && used.some((other) => Math.abs(tried - other) < APART);
      if (!beside && !isBlocked(boxes, box, tried)) return stand(box, tried);
    }
  }
  return stand(box, x);
}

function highestOver(boxes, x) {
  const over = boxes.filter((box) => overlap([x - CLEAR, x + CLEAR], [box.left, box.right]));
  return Math.max(0, ...over.map((box) => box.top));
}

function stand(box, x) {
  if (box.left < x && x < box.right) return { x, y: box.top, side: null };
  return { x, y: box.top - CAPTION / 2, side: x <= box.left ? box.left : box.right };
}

/** Whether the way from a box to `x` and up meets another caption. */
function isBlocked(boxes, box, x) {
  const way = [
    Math.min(x, x <= box.left ? box.left : x) - CLEAR,
    Math.max(x, x >= box.right ? box.right : x) + CLEAR,
  ];
  return boxes.some((other) => {
    if (other === box || other.mark.bare || other.level < box.level) return false;
    const path = other.level === box.level ? way : [x - CLEAR, x + CLEAR];
    return overlap(path, [other.left, other.right]);
  });
}
