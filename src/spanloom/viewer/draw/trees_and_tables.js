/** What stands under a line: trees of constituents, tables of predicates and arguments. */

import { html, px, svg } from "./dom.js";
import { LAYER, walk } from "./tree.js";
import { nameOf } from "./layout.js";
import { captionOf } from "./boxes.js";
import { visible } from "./text.js";
import { wordsFor } from "./view_model.js";

const MARGIN = 8;
const HEIGHT = 16; // of a label of a node
const TURN = 8; // from a label to where its branches part
const LONGEST = 200; // letters of a cell
const SHORT = 30; // letters that stay on one line

/** Return the room that a tree has on a page of this width. */
export function roomOf(width) {
  return width - 2 * MARGIN;
}

/**
 * Return a tree of constituents.
 * @param {Document} page
 * @param {import("./tree.js").Tree} tree
 * @param {string} layer
 * @param {(item: object) => string} tell
 */
export function drawTree(page, tree, layer, tell) {
  const top = (node) => (tree.rank - node.rank) * LAYER;
  const [width, height] = [tree.width + 2 * MARGIN, tree.rank * LAYER + HEIGHT + 2 * MARGIN];
  const viewBox = [-MARGIN, -MARGIN, width, height].map(px).join(" ");
  const size = { width: px(width), height: px(height), viewBox };
  const root = svg(page, "svg", { ...size, class: "tree", role: "group", "aria-label": visible(layer) });
  for (const node of walk(tree.root)) {
    root.append(...node.parts.map((part) => branch(page, node, part, top)));
    root.append(
      node.mark ? bracket(page, node, top(node), tell) : leaf(page, node, top(node)),
    );
  }
  const title = html(page, "p", { class: "source" }, visible(layer));
  return html(page, "div", { class: "figure" }, title, root);
}

/** Draw the way from a node to a part: along below the node, then straight down, so none cross. */
function branch(page, node, part, top) {
  const low = top(node) + HEIGHT;
  const d = `M${px(node.x)} ${px(low)}V${px(low + TURN)}H${px(part.x)}V${px(top(part))}`;
  return svg(page, "path", { class: "branch", d });
}

function leaf(page, node, y) {
  return svg(page, "text", { class: "word middle", x: px(node.x), y: px(y + 13) }, node.text);
}

function bracket(page, node, y, tell) {
  const { x, width } = node;
  const fold = node.folded ? "folded, Enter opens it" : "Enter folds it";
  const name = [tell(node.mark), ...(node.foldable ? [fold] : [])].join(". ");
  const state = [node.foldable ? "foldable" : "", node.folded ? "folded" : ""];
  const place = { x: px(x - width / 2), y: px(y), width: px(width), height: HEIGHT, rx: 3 };
  const text = { class: "caption", x: px(node.x), y: px(y + 11.8) };
  return svg(
    page,
    "g",
    {
      class: ["item box", `c${node.mark.color}`, node.mark.state ?? "", ...state].join(" ").trim(),
      "data-key": `s${node.mark.at}`,
      role: node.foldable ? "button" : "img",
      "aria-label": name,
      tabindex: -1,
    },
    svg(page, "rect", place),
    svg(page, "text", text, node.text),
  );
}

/**
 * Return a table of predicates and what leads from them, a column for each label.
 * @param {Document} page
 * @param {string[]} points
 * @param {[import("./boxes.js").Mark, import("./layout.js").Link[]][]} tuples
 * @param {object} layer
 */
export function drawTable(page, points, tuples, layer) {
  const labels = new Set(tuples.flatMap(([, links]) => links.map(captionOf)));
  const roles = [...labels].sort();
  const wordsOf = (role) => {
    const link = tuples.flatMap(([, links]) => links).find((each) => captionOf(each) === role);
    return wordsFor(layer, link.label);
  };
  const heads = [
    html(page, "th", { scope: "col" }, visible(layer.name)),
    ...roles.map((role) => roleHead(page, role, wordsOf(role))),
  ];
  const rows = tuples.map(([mark, links]) => tableRow(page, points, mark, links, roles));
  const table = html(page, "table", {}, html(page, "tr", {}, ...heads), ...rows);
  const region = { class: "figure", tabindex: 0, role: "group", "aria-label": visible(layer.name) };
  return html(page, "div", region, table);
}

function roleHead(page, role, words) {
  const small = words ? [html(page, "small", {}, visible(words))] : [];
  return html(page, "th", { scope: "col" }, html(page, "div", {}, role), ...small);
}

function tableRow(page, points, mark, links, roles) {
  const cells = roles.map((role) => {
    const ofRole = links.filter((link) => captionOf(link) === role);
    const texts = ofRole.map((link) => nameOf(points, link.targetMark, LONGEST)).join(" · ");
    const name = texts.length <= SHORT ? "short" : null;
    return html(page, "td", { dir: "auto", class: name }, texts);
  });
  const keys = [`s${mark.at}`, ...links.flatMap((link) => [`l${link.at}`, `s${link.target}`])];
  const name = html(page, "th", { scope: "row", dir: "auto" }, nameOf(points, mark, LONGEST));
  if (mark.label !== "predicate") name.append(html(page, "small", {}, ` ${captionOf(mark)}`));
  return html(
    page,
    "tr",
    { class: "tuple", tabindex: 0, "data-keys": keys.join(" ") },
    name,
    ...cells,
  );
}
