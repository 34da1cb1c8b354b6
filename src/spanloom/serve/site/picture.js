/** The drawing as one picture: its rows under one another, with the styles they have on the page. */

import { html, px, svg } from "../../viewer/draw/dom.js";
import { Trouble } from "./trouble.js";

const GAP = 6; // between two rows
const MARGIN = 10; // around all
const TEXT = ["fill", "font-family", "font-size", "text-anchor", "direction"];
const SHAPE = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"];
const STYLES = new Map([["text", TEXT], ...["rect", "path"].map((name) => [name, SHAPE])]);
const CLEAR = /^(rgba\(0, 0, 0, 0\)|transparent)$/;
const NO_XML = /[\ufffe\uffff]/g;
const SHARP = 2; // pixels of an image a pixel of the page
const SIDE = 16_000; // pixels that a side of an image may have in every browser
const AREA = 64_000_000;

/**
 * Return all rows of a drawing as one SVG.
 * @param {HTMLElement} host
 * @returns {{source: string, width: number, height: number}}
 */
export function pictureOf(host) {
  const page = host.ownerDocument;
  const rows = [...host.querySelectorAll("svg")];
  const sizes = rows.map((row) => [row.width.baseVal.value, row.height.baseVal.value]);
  const inner = Math.max(0, ...sizes.map(([width]) => width));
  const placed = [];
  let y = MARGIN;
  rows.forEach((row, at) => {
    const [width, height] = sizes[at];
    const x = MARGIN + (row.closest(".rtl") ? inner - width : 0);
    placed.push(placedAt(row, x, y));
    y += height + GAP;
  });
  const [width, height] = [inner + 2 * MARGIN, y + MARGIN];
  const size = { width: px(width), height: px(height) };
  const { backgroundColor } = page.defaultView.getComputedStyle(page.body);
  const ground = svg(page, "rect", { ...size, fill: backgroundColor });
  const whole = svg(page, "svg", size, ground, ...placed);
  const source = new page.defaultView.XMLSerializer().serializeToString(whole);
  return { source: source.replace(NO_XML, "\ufffd"), width, height };
}

/**
 * Return a picture as pixels, fewer for one that would be larger than browsers make them.
 * @param {Document} page
 * @param {{source: string, width: number, height: number}} picture
 * @returns {Promise<Blob>}
 */
export async function pixelsOf(page, { source, width, height }) {
  const most = Math.min(SIDE / width, SIDE / height, Math.sqrt(AREA / (width * height)));
  if (most < 1) throw new Trouble("The drawing is too long for one PNG; an SVG holds all of it.");
  const scale = Math.min(SHARP, most);
  const size = { width: Math.ceil(scale * width), height: Math.ceil(scale * height) };
  const canvas = html(page, "canvas", size);
  const address = URL.createObjectURL(new Blob([source], { type: "image/svg+xml" }));
  try {
    const image = html(page, "img", { src: address });
    await image.decode();
    canvas.getContext("2d").drawImage(image, 0, 0, size.width, size.height);
  } finally {
    URL.revokeObjectURL(address);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Return a copy of a row at its place, which needs no style sheet. */
function placedAt(row, x, y) {
  const copy = styled(row);
  for (const name of ["width", "height", "viewBox"])
    copy.setAttribute(name, row.getAttribute(name));
  copy.setAttribute("x", px(x));
  copy.setAttribute("y", px(y));
  return copy;
}

function styled(element) {
  const { ownerDocument: page, localName } = element;
  const copy = svg(page, localName);
  for (const name of ["x", "y", "width", "height", "rx", "d"]) {
    if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name));
  }
  const style = page.defaultView.getComputedStyle(element);
  for (const name of STYLES.get(localName) ?? []) {
    const value = style.getPropertyValue(name);
    copy.setAttribute(name, CLEAR.test(value) ? "none" : value);
  }
  const parts = [...element.childNodes];
  copy.append(...parts.map((part) => (part.nodeType === 1 ? styled(part) : part.cloneNode())));
  return copy;
}
