/** Constituents as a tree: words in a row at the bottom, each bracket over the middle of its parts. */

import { captionWidth } from "./measure.js";
import { captionOf } from "./boxes.js";
import { elide, isBackward, visible } from "./text.js";

export const LAYER = 34; // from one node to the nodes under it
const APART = 14; // between two parts
const LEAST = 8; // width of a bracket without a label
const BLANK = /^\s$/u;
const FOLDED = 16; // letters of the words under a folded node

/**
 * @typedef {object} Node
 * @property {?import("./boxes.js").Mark} mark  null for words.
 * @property {string} text
 * @property {number} width   Of itself.
 * @property {number} x       Its middle.
 * @property {number} rank    0 for words, else one more than the highest of its parts.
 * @property {Node[]} parts
 * @property {boolean} folded  Whether its parts are hidden.
 * @property {boolean} foldable
 *
 * @typedef {object} Tree
 * @property {Node} root
 * @property {number} width
 * @property {number} rank
 */

/**
 * Return the trees of the outermost marks among `roots`. A tree that is wider than `width` is folded
 * from below until it fits; nodes in `open` are folded (false) or not (true) whatever the width.
 * @param {string[]} points
 * @param {import("./boxes.js").Mark[]} roots
 * @param {Map<number, import("./boxes.js").Mark[]>} children  The marks in each mark, by place.
 * @param {import("./measure.js").Fonts} fonts
 * @param {{width?: number, open?: Map<number, boolean>}} how
 * @returns {Tree[]}
 */
export function treesOf(points, roots, children, fonts, { width = Infinity, open = new Map() } = {}) {
  return roots.map((mark) => {
    const within = (depth) => {
      const isFolded = (node, at) => !(open.get(node.mark.at) ?? at < depth);
      return treeOf(points, grow(points, mark, children, fonts, isFolded));
    };
    const whole = within(Infinity);
    return whole.width <= width ? whole : fitted(within, width, depthOf(whole.root));
  });
}

/** Return the tree of the most levels that fits, of one level where none does. */
function fitted(within, width, depth) {
  let [low, high] = [1, depth];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (within(middle).width <= width) low = middle;
    else high = middle - 1;
  }
  return within(low);
}

function treeOf(points, root) {
  const nodes = [...walk(root)];
  for (const node of nodes.toReversed()) measure(node);
  spread(root, 0);
  const [start, end] = root.mark.fragments[0];
  if (isBackward(points.slice(start, end))) for (const node of nodes) node.x = root.room - node.x;
  return { root, width: root.room, rank: root.rank };
}

function depthOf(root) {
  let deepest = 0;
  for (const node of walk(root)) deepest = Math.max(deepest, node.depth);
  return deepest + 1;
}

/** Yield a node and all under it, each before its parts; a tree may be deeper than the stack. */
export function* walk(root) {
  const stack = [root];
  while (stack.length) {
    const node = stack.pop();
    yield node;
    for (let at = node.parts.length - 1; at >= 0; at -= 1) stack.push(node.parts[at]);
  }
}

function grow(points, mark, children, fonts, isFolded) {
  const root = bracketOf(mark, fonts, 0);
  const open = [root];
  while (open.length) {
    const node = open.pop();
    const inner = children.get(node.mark.at) ?? [];
    const words = leaves(points, ...node.mark.fragments[0], fonts);
    node.foldable = words.length > 1;
    node.folded = node.foldable && isFolded(node, node.depth);
    if (node.folded) {
      node.parts = [short(words, fonts)];
      continue;
    }
    const brackets = inner.map((part) => bracketOf(part, fonts, node.depth + 1));
    open.push(...brackets);
    node.parts = filled(points, node.mark.fragments[0], brackets, fonts);
  }
  return root;
}

/** Return the first letters of words as one leaf. */
function short(words, fonts) {
  const text = elide(words.map((word) => word.text).join(" "), FOLDED);
  return nodeOf(null, text, fonts.text(text));
}

function bracketOf(mark, fonts, depth) {
  const caption = captionOf(mark);
  return nodeOf(mark, caption, Math.max(LEAST, captionWidth(caption, fonts)), depth);
}

function nodeOf(mark, text, width, depth = 0) {
  const state = { depth, folded: false, foldable: false };
  return { mark, text, width, x: 0, rank: 0, room: 0, parts: [], ...state };
}

/** Return the brackets of a node with the words between them, in order. */
function filled(points, [start, end], brackets, fonts) {
  const parts = [];
  let at = start;
  for (const bracket of brackets) {
    const [first, last] = bracket.mark.fragments[0];
    parts.push(...leaves(points, at, first, fonts), bracket);
    at = last;
  }
  return [...parts, ...leaves(points, at, end, fonts)];
}

function leaves(points, start, end, fonts) {
  const words = [];
  let first = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && !BLANK.test(points[at])) continue;
    if (first < at) {
      const text = visible(points.slice(first, at).join(""));
      words.push(nodeOf(null, text, fonts.text(text)));
    }
    first = at + 1;
  }
  return words;
}

/** Fill in the rank of a node and the room it needs, its parts' being known. */
function measure(node) {
  const inner = node.parts.reduce((sum, part) => sum + part.room + APART, -APART);
  node.room = Math.max(node.width, inner);
  node.rank = node.mark ? 1 + Math.max(0, ...node.parts.map((part) => part.rank)) : 0;
}

/** Give every node its place, from the left of the room it has. */
function spread(root, left) {
  const open = [[root, left]];
  const order = [];
  while (open.length) {
    const [node, start] = open.pop();
    order.push([node, start]);
    const inner = node.parts.reduce((sum, part) => sum + part.room + APART, -APART);
    let at = start + Math.max(0, node.room - inner) / 2;
    for (const part of node.parts) {
      open.push([part, at]);
      at += part.room + APART;
    }
  }
  for (const [node, start] of order.toReversed()) {
    const [first, last] = [node.parts[0], node.parts.at(-1)];
    node.x = first ? (first.x + last.x) / 2 : start + node.room / 2;
  }
}
