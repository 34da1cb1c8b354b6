/** One row of the layout as an SVG element. Colours are classes. */

import { HALF } from "./arcs.js";
import { BAR, CAPTION, LEVEL } from "./boxes.js";
import { html, px, svg } from "./dom.js";
import { PADDING } from "./measure.js";

const LINE = 22; // height of a line of text
const BASE = 16; // from the top of the text to its baseline
export const MARGIN = 6; // around a strip
const CORNER = 6; // radius where an arc turns
const DEEPEST = 3; // tints of nested spans are this many steps deeper at most
const HEAD = 6.5; // length of an arrow head

/**
 * @typedef {object} Saying  What is said beside the text of a row.
 * @property {(item: object) => string} tell     What a mark or a link says to who cannot see it.
 * @property {(layer: number) => number} color  The color of a layer's arcs.
 * @property {[number, number, boolean][]} hits  Left and right of what was found, whether it is the
 *   one gone to.
 * @property {string[]} layers                   The names of the layers in the line.
 */

/**
 * Return a row of text with its boxes and arcs.
 * @param {Document} page
 * @param {import("./layout.js").Strip} strip
 * @param {Saying} saying
 */
export function drawStrip(page, strip, saying) {
  const { tell, color } = saying;
  const frame = frameOf(strip);
  const spoken = strip.row.words.map((word) => word.text).join(" ");
  const root = svg(page, "svg", { ...frame, class: "strip", role: "group", "aria-label": spoken });
  const nested = strip.boxes.toSorted((one, other) => other.level - one.level);
  root.append(...nested.flatMap((box) => tints(page, box)));
  root.append(...saying.hits.map((hit) => drawHit(page, hit)));
  // The highest arc first: its legs pass under the captions of lower arcs.
  const arcs = strip.arcs.toSorted((one, other) => other.height - one.height);
  root.append(...arcs.map((arc) => drawArc(page, arc, color(arc.link.layer), tell)));
  const boxes = strip.boxes.toSorted((one, other) => one.reach[0] - other.reach[0]);
  root.append(...boxes.map((box) => drawBox(page, box, tell)));
  root.append(...drawWords(page, strip.row));
  return root;
}

function frameOf({ row, boxes, arcs }) {
  const feet = arcs.flatMap((arc) => [arc.source, arc.target]).filter(Boolean);
  const reaches = [...boxes, ...arcs].map((part) => part.reach);
  const left =
    Math.min(0, ...feet.map((foot) => foot.x), ...reaches.map(([left]) => left)) - MARGIN;
  const right =
    Math.max(row.width, ...feet.map((foot) => foot.x), ...reaches.map(([, right]) => right)) + MARGIN;
  const heights = [...boxes.map((box) => box.top), ...arcs.map((arc) => arc.height + HALF + 1)];
  const top = Math.max(MARGIN, ...heights);
  const [width, height] = [right - left, top + LINE + 2 * MARGIN];
  const viewBox = [left, -top - MARGIN, width, height].map(px).join(" ");
  return { width: px(width), height: px(height), viewBox };
}

function drawWords(page, row) {
  return row.words.map((word, at) => {
    const x = word.backward ? row.xs[at] + word.width : row.xs[at];
    const direction = word.backward ? "rtl" : null;
    return svg(page, "text", { class: "word", x: px(x), y: BASE, direction }, word.text);
  });
}

function tints(page, box) {
  const height = LINE - 3 + Math.min(box.level, DEEPEST) * 1.5;
  const name = box.mark.bare ? "tint bare" : `tint c${box.mark.color}`;
  return box.pieces.map(([left, right]) =>
    svg(page, "rect", {
      class: name,
      "data-key": `s${box.mark.at}`,
      "data-cluster": box.mark.cluster ?? null,
      x: px(left),
      y: 0,
      rx: 2,
      width: px(Math.max(2, right - left)),
      height,
    }),
  );
}

function itemOf(page, item, kind, key, tell, ...parts) {
  const name = [kind, item.state, item.score === undefined ? "" : "scored"]
    .filter(Boolean)
    .join(" ");
  const attributes = { role: "img", "aria-label": tell(item), tabindex: -1 };
  return svg(page, "g", { class: `item ${name}`, "data-key": key, ...attributes }, ...parts);
}

function drawBox(page, box, tell) {
  const { mark } = box;
  const kind = mark.bare ? "box bare" : `box c${mark.color}`;
  const parts = mark.bare ? [] : [...bars(page, box), ...caption(page, box)];
  if (mark.bare) parts.push(outline(page, box));
  return itemOf(page, mark, kind, `s${mark.at}`, tell, ...parts);
}

function outline(page, { reach: [left, right] }) {
  const place = { x: px(left - 1), y: 0, width: px(right - left + 2), height: LINE - 2 };
  return svg(page, "rect", { ...place, rx: 3 });
}

function caption(page, box) {
  const { left, right, top } = box;
  const place = { x: px(left), y: px(-top), width: px(right - left), height: CAPTION, rx: 3 };
  const text = {
    x: px((left + right) / 2),
    y: px(3.8 - box.bottom - CAPTION / 2),
    class: "caption",
  };
  return [svg(page, "rect", place), svg(page, "text", text, box.caption)];
}

/** Draw a bracket over each piece, and dashes from each piece to the next. */
function bars(page, box) {
  const [low, high] = [-box.level * LEVEL, -box.level * LEVEL - BAR + 2];
  const brackets = box.pieces.map(([left, right]) => {
    const [start, end] = [left + 0.5, Math.max(right, left + 2) - 0.5];
    return `M${px(start)} ${px(low)}V${px(high)}H${px(end)}V${px(low)}`;
  });
  const gaps = box.pieces.slice(1).map(([left], at) => {
    return `M${px(box.pieces[at][1])} ${px(high)}H${px(left)}`;
  });
  const drawn = [svg(page, "path", { d: brackets.join("") })];
  if (gaps.length) drawn.push(svg(page, "path", { class: "gap", d: gaps.join("") }));
  return drawn;
}

function drawHit(page, [left, right, current]) {
  const size = { x: px(left), y: 0, width: px(Math.max(2, right - left)), height: LINE - 2 };
  return svg(page, "rect", { class: current ? "hit current" : "hit", rx: 2, ...size });
}

function drawArc(page, arc, color, tell) {
  const [left, right] = arc.label;
  const parts = [svg(page, "path", { d: pathOf(arc) })];
  if (arc.target && !arc.link.undirected) parts.push(head(page, arc.target));
  if (arc.caption) {
    const ground = {
      x: px(left),
      y: px(-arc.height - HALF),
      width: px(right - left),
      height: 2 * HALF,
    };
    const text = { x: px((left + right) / 2), y: px(3.8 - arc.height), class: "caption" };
    parts.push(svg(page, "rect", { ...ground, rx: 2 }), svg(page, "text", text, arc.caption));
  }
  return itemOf(page, arc.link, `arc c${color}`, `l${arc.link.at}`, tell, ...parts);
}

/** Draw an arrow head down onto a box, or sideways into it. */
function head(page, { x, y, side }) {
  const back = x > side ? HEAD : -HEAD;
  const points =
    side === null ? `M${px(x)} ${px(-y)}l-3-${HEAD}h6z` : `M${px(side)} ${px(-y)}l${back}-3v6z`;
  return svg(page, "path", { class: "head", d: points });
}

/** Return the line of an arc: up from the source, along, down to the target. */
function pathOf({ source, target, free, height, ends }) {
  const line = -height;
  if (!source && ends[0] === ends[1]) return `M${px(target.x)} ${px(line)}V${px(-target.y)}`;
  const [start, stop] = [source ? source.x : free, target ? target.x : free];
  const turn = Math.min(CORNER, Math.abs(stop - start) / 2) * (stop >= start ? 1 : -1);
  const low = px(line + Math.abs(turn));
  const up = source
    ? `${sideStep(source)}V${low}Q${px(start)} ${px(line)} ${px(start + turn)} ${px(line)}`
    : `M${px(start)} ${px(line)}`;
  if (!target) return `${up}H${px(stop)}`;
  const side = target.side === null ? "" : `H${px(target.side)}`;
  const down = `H${px(stop - turn)}Q${px(stop)} ${px(line)} ${px(stop)} ${low}`;
  return `${up}${down}V${px(-target.y)}${side}`;
}

function sideStep({ x, y, side }) {
  return side === null ? `M${px(x)} ${px(-y)}` : `M${px(side)} ${px(-y)}H${px(x)}`;
}

/**
 * Return a row with its number before it, whose it is, and its layers, at the side where it begins.
 * @param {Document} page
 * @param {import("./layout.js").Strip} strip
 * @param {?string} whose
 * @param {number|string} number
 * @param {Saying} saying
 */
export function drawRow(page, strip, whose, number, saying) {
  const name = strip.row.backward ? "row rtl" : "row";
  const parts = whose ? [html(page, "span", { class: "whose" }, `${whose} `), number] : [number];
  const layers = number ? saying.layers : [];
  const names = layers.map((layer) => html(page, "span", { class: "source" }, layer));
  const gutter = html(page, "span", { class: "number", "aria-hidden": "true" }, ...names, ...parts);
  return html(page, "div", { class: name }, gutter, drawStrip(page, strip, saying));
}
