/** Where everything of a line stands: rows of words, boxes over them, arcs over the boxes. */

import { arcsOf } from "./arcs.js";
import { ask, boxesOf, captionOf } from "./boxes.js";
import { centreOf } from "./arc_anchors.js";
import { captionWidth } from "./measure.js";
import { Demand, rowsOf } from "./rows.js";
import { elide, visible } from "./text.js";
import { wordsOf } from "./words.js";

const FAR = 24; // letters of the far end's text that a stub names
const STUB = 14; // how much longer a stub is than its caption

/**
 * @typedef {object} Strip  One row with what stands over it.
 * @property {import("./rows.js").Row} row
 * @property {import("./boxes.js").Box[]} boxes
 * @property {import("./arcs.js").Arc[]} arcs
 *
 * @typedef {object} Link  A link of the data, with its place among them as `at`.
 */

/**
 * Return the rows of a line with marks and links over them.
 * @param {string[]} points       The characters of the text.
 * @param {[number, number]} line  The characters that stand in it.
 * @param {import("./boxes.js").Mark[]} marks   Those that stand in it, too.
 * @param {Link[]} links          Those with an end in it; `sourceMark` and `targetMark` are the ends.
 * @param {{width: number, fonts: import("./measure.js").Fonts}} setting
 * @returns {Strip[]}
 */
export function layout(points, line, marks, links, { width, fonts }) {
  const words = wordsOf(points, line, fonts.text, width);
  const demand = new Demand();
  ask(demand, words, marks, links, fonts);
  const rows = rowsOf(words, demand, { width, end: line[1], space: fonts.text(" ") });
  const boxes = boxesOf(rows, marks, fonts);
  const setting = { points, rows, boxes, places: placesOf(boxes), width, fonts };
  const plans = rows.map(() => []);
  for (const link of links) {
    for (const [at, plan] of plansOf(link, setting)) plans[at].push(plan);
  }
  return rows.map((row, at) => ({
    row,
    boxes: boxes[at],
    arcs: arcsOf(boxes[at], plans[at], fonts),
  }));
}

/** Return for each mark its first row and the rows it stands in, with its box in each. */
function placesOf(boxes) {
  const places = new Map();
  boxes.forEach((row, at) => {
    row.forEach((box, number) => {
      if (!places.has(box.mark.at)) places.set(box.mark.at, new Map());
      places.get(box.mark.at).set(at, number);
    });
  });
  return places;
}

/** Return plans with their rows: one where both ends are in one row, else one for each end. */
function plansOf(link, setting) {
  const heads = setting.places.get(link.source);
  const tails = setting.places.get(link.target);
  const both = heads && tails && [...heads.keys()].filter((at) => tails.has(at));
  if (both?.length) {
    const [at] = both;
    const ends = { source: heads.get(at), target: tails.get(at) };
    return [[at, { link, caption: captionOf(link), ...ends, free: 0 }]];
  }
  const [head, tail] = [firstOf(heads), firstOf(tails)];
  const here = head !== null && tail !== null;
  if (here && Math.abs(head - tail) === 1) return wrapped(link, head, tail, setting);
  return stubs(link, head, tail, setting);
}

function firstOf(rows) {
  return rows ? Math.min(...rows.keys()) : null;
}

/** Return the two halves of an arc that goes on in the next row; one of them has the caption. */
function wrapped(link, head, tail, setting) {
  const upper = Math.min(head, tail);
  const halves = [
    [head, "source"],
    [tail, "target"],
  ].map(([at, end]) => ({ at, end, number: setting.places.get(link[end]).get(at) }));
  halves.sort((one, other) => one.at - other.at);
  const named = halves.find((half) => hasRoom(link, half, upper, setting)) ?? halves[0];
  return halves.map((half) => {
    const { at, end, number } = half;
    const caption = half === named ? captionOf(link) : "";
    const box = setting.boxes[at][number];
    const free = edgeOf(box, setting.rows[at], at === upper, caption, setting);
    return [at, { link, caption, ...oneEnd(end, number), free }];
  });
}

/** Whether the caption of an arc has room between its box and where the arc leaves the row. */
function hasRoom(link, { at, number }, upper, setting) {
  const middle = centreOf(setting.boxes[at][number]);
  const toRight = (at === upper) !== setting.rows[at].backward;
  const length = captionWidth(captionOf(link), setting.fonts) + STUB;
  return length <= (toRight ? rightOf(setting.rows[at], setting) - middle : middle);
}

/** Return the right of the page, or of a row that is wider. */
function rightOf(row, { width }) {
  return Math.max(row.width, width);
}

function oneEnd(end, number) {
  return { source: end === "source" ? number : null, target: end === "target" ? number : null };
}

/** Return where an arc leaves a row: at its end if it goes `onward`, else at its start; behind the
 * end where the caption needs that, but still on the page. */
function edgeOf(box, row, onward, caption, setting) {
  if (onward === row.backward) return 0;
  const reach = centreOf(box) + captionWidth(caption, setting.fonts) + STUB;
  return Math.max(row.width, Math.min(rightOf(row, setting), reach));
}

/** Return for each end in this line an arrow that names the text at the far end. */
function stubs(link, head, tail, setting) {
  const arrow = link.undirected ? "–" : "→";
  const caption = captionOf(link);
  const { points } = setting;
  const first = link.sourceMark.fragments[0][0] <= link.targetMark.fragments[0][0];
  const ends = [];
  if (head !== null) {
    const there = `${caption} ${arrow} ${nameOf(points, link.targetMark)}`;
    ends.push([head, stub(link, "source", head, there, first, setting)]);
  }
  if (tail !== null) {
    const here = `${nameOf(points, link.sourceMark)} ${arrow} ${caption}`;
    ends.push([tail, stub(link, "target", tail, here, !first, setting)]);
  }
  return ends;
}

function stub(link, end, at, caption, onward, { places, boxes, rows, width, fonts }) {
  const number = places.get(link[end]).get(at);
  const box = boxes[at][number];
  const length = captionWidth(caption, fonts) + STUB;
  const limit = Math.max(width, box.right);
  let toRight = onward !== rows[at].backward;
  if (toRight && centreOf(box) + length > limit) toRight = centreOf(box) < length;
  else if (!toRight && centreOf(box) < length) toRight = true;
  const free = toRight ? Math.min(limit, centreOf(box) + length) : centreOf(box) - length;
  return { link, caption, ...oneEnd(end, number), free };
}

/** Return the text of a mark, short enough to name it. */
export function nameOf(points, mark, most = FAR) {
  const shown = mark.fragments.map(([start, end]) => points.slice(start, end).join(""));
  const text = visible(shown.join(" ").replace(/\s+/g, " ").trim());
  return elide(text, most) || visible(mark.label);
}
