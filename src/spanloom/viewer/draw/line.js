/** One line of one side, drawn: its rows, the trees and the tables under them. */

import { enterable } from "./interaction.js";
import { layout } from "./layout.js";
import { drawRow } from "./row_svg.js";
import { extentOf, holds } from "./rows.js";
import { visible } from "./text.js";
import { treesOf } from "./tree.js";
import { drawTable, drawTree, roomOf } from "./trees_and_tables.js";

/**
 * @typedef {object} Setting  What all lines of a drawing share.
 * @property {Document} page
 * @property {import("./measure.js").Fonts} fonts
 * @property {import("./view.js").View} view
 * @property {Map<string, Map<number, boolean>>} open  Nodes of trees that the reader folded, by side.
 *
 * @typedef {object} Place  Where a line is drawn.
 * @property {number} at
 * @property {number} width
 * @property {?string} name  Of its side.
 * @property {Map<number, boolean>} open
 * @property {{place: [number, number], current: boolean}[]} hits
 */

/**
 * Return the figures of a line of a side.
 * @param {Setting} setting
 * @param {import("./view_model.js").Side} side
 * @param {Place} place
 * @returns {Element[]}
 */
export function drawSide({ page, fonts, view }, side, { at, width, name, open, hits }) {
  const { text } = side;
  const [marks, links] = [side.boxed(at, view), side.arched(at, view)];
  const strips = layout(text.points, text.lines[at], marks, links, { width, fonts });
  const tell = (item) => text.describe(item).join(". ");
  const named = [...new Set([...marks, ...links].map((item) => item.layer))].sort((a, b) => a - b);
  const layers = named.map((layer) => visible(view.layers[layer].name));
  const color = (layer) => view.layers[layer].color;
  const rows = strips.map((strip, row) => {
    const saying = { tell, color, layers, hits: hitsIn(strip.row, hits, fonts) };
    return drawRow(page, strip, row ? null : name, row ? "" : at + 1, saying);
  });
  const { roots, children } = side.trees(at, view);
  const trees = treesOf(text.points, roots, children, fonts, { width: roomOf(width), open });
  const figures = trees.map((tree) =>
    drawTree(page, tree, view.layers[tree.root.mark.layer].name, tell),
  );
  const tables = side.tuples(at, view).map(([layer, tuples]) => {
    return drawTable(page, text.points, tuples, view.layers[layer]);
  });
  for (const figure of [...rows, ...figures]) enterable(figure.querySelector("svg"));
  return [...rows, ...figures, ...tables];
}

/** Return left and right of what was found in a row. */
function hitsIn(row, hits, fonts) {
  return hits
    .filter(({ place: [start, end] }) => holds(row, start, end))
    .map(({ place, current }) => [...extentOf(row, ...place, fonts.text), current]);
}
