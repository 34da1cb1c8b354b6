// Nothing that is drawn covers anything else, whatever the annotation looks like.
// Run by test_layout.py, or: node --test tests/page

import assert from "node:assert/strict";
import { test } from "node:test";

import { CAPTION } from "../../src/spanloom/viewer/draw/boxes.js";
import { layout } from "../../src/spanloom/viewer/draw/layout.js";
import { elide, isBackward, letters, visible } from "../../src/spanloom/viewer/draw/text.js";
import { treesOf, walk } from "../../src/spanloom/viewer/draw/tree.js";

const EDGE = 1e-6;
const WIDTH = 400;
const HALF = 7; // what an arc's caption takes above and below its line
const COLUMN = 8;
const fonts = {
  text: (text) => Array.from(text).length * COLUMN,
  caption: (text) => Array.from(text).length * 6.6,
};
const WORDS = [
  "add",
  "250µl",
  "of",
  "a",
  "Genomic",
  "x".repeat(130),
  "漢字",
  "שלום",
  "2",
  "e\u0301",
  "👩‍🔬",
  "\t",
];
const LABELS = ["A", "Action", "Generic-Measure", "漢字", "Acts-on [Negated, Score=high]"];

/** Return a source of numbers below 1 that is the same each time (mulberry32). */
function chance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Return a text with marks and links over it, drawn by chance. */
function picture(seed) {
  const next = chance(seed);
  const below = (limit) => Math.floor(next() * limit);
  const text = Array.from({ length: below(40) }, () => WORDS[below(WORDS.length)]).join(" ");
  const points = Array.from(text);
  const marks = Array.from({ length: below(12) }, (_, at) => {
    const cuts = Array.from({ length: 2 * (1 + below(3)) }, () => below(points.length + 1)).sort(
      (a, b) => a - b,
    );
    const pairs = cuts.flatMap((cut, place) => (place % 2 ? [[cuts[place - 1], cut]] : []));
    const fragments = pairs.filter(([start, end]) => start < end);
    return {
      at,
      label: LABELS[below(5)],
      fragments: fragments.length ? fragments : [pairs[0]],
      bare: below(8) === 0,
    };
  });
  const links = Array.from({ length: marks.length ? below(12) : 0 }, (_, at) => {
    return link(at, LABELS[below(5)], marks[below(marks.length)], marks[below(marks.length)]);
  });
  return { points, marks, links };
}

function mark(at, fragments, label = "L", more = {}) {
  return { at, label, fragments, ...more };
}

function link(at, label, sourceMark, targetMark) {
  return { at, label, source: sourceMark.at, target: targetMark.at, sourceMark, targetMark };
}

function lay(points, marks = [], links = [], width = WIDTH) {
  const all = Array.isArray(points) ? points : Array.from(points);
  return layout(all, [0, all.length], marks, links, { width, fonts });
}

const pictures = Array.from({ length: 400 }, (_, seed) => picture(seed + 1));

function meet(one, other) {
  const across = one[0] < other[1] - EDGE && other[0] < one[1] - EDGE;
  return across && one[2] < other[3] - EDGE && other[2] < one[3] - EDGE;
}

function covers(strip) {
  const boxes = strip.boxes.filter((box) => !box.mark.bare);
  const captions = boxes.map((box) => [box.left, box.right, box.bottom, box.top]);
  const labels = strip.arcs.map((arc) => [...arc.label, arc.height - HALF, arc.height + HALF]);
  const lines = strip.arcs.map((arc) => [...arc.ends, arc.height - 1, arc.height + 1]);
  const pairs = [
    ...captions.flatMap((one, at) => captions.slice(at + 1).map((other) => [one, other])),
    ...labels.flatMap((one, at) => labels.slice(at + 1).map((other) => [one, other])),
    ...captions.flatMap((one) => [...labels, ...lines].map((other) => [one, other])),
    ...labels.flatMap((one, at) =>
      lines.filter((_, other) => at !== other).map((other) => [one, other]),
    ),
  ];
  return pairs.filter(([one, other]) => meet(one, other));
}

test("no caption covers another or is crossed by a level line", () => {
  for (const { points, marks, links } of pictures) {
    for (const strip of lay(points, marks, links)) assert.deepEqual(covers(strip), []);
  }
});

test("all that is over the words is above them", () => {
  for (const { points, marks, links } of pictures) {
    for (const { boxes, arcs } of lay(points, marks, links)) {
      assert.ok(boxes.every((box) => box.mark.bare || box.bottom > 0));
      assert.ok(arcs.every((arc) => arc.height - HALF > 0));
    }
  }
});

test("words stand apart in a row, and each character is shown once", () => {
  for (const { points, marks, links } of pictures) {
    const strips = lay(points, marks, links);
    for (const { row } of strips) {
      const seen = row.words.map((word, at) => [row.xs[at], row.xs[at] + word.width]);
      seen.sort(([one], [other]) => one - other);
      assert.ok(seen.every(([left], at) => left >= (at ? seen[at - 1][1] - EDGE : 0)));
    }
    const words = strips.flatMap(({ row }) => row.words);
    const shown = words.flatMap(({ start, end }) =>
      Array.from({ length: end - start }, (_, at) => start + at),
    );
    assert.deepEqual(
      shown,
      [...points.keys()].filter((at) => points[at] !== " "),
    );
  }
});

test("every mark and both ends of every link are drawn", () => {
  for (const { points, marks, links } of pictures) {
    const strips = lay(points, marks, links);
    const boxes = new Set(strips.flatMap(({ boxes }) => boxes.map((box) => box.mark.at)));
    assert.equal(boxes.size, marks.length);
    for (const each of links) {
      const arcs = strips.flatMap((strip) => strip.arcs).filter((arc) => arc.link === each);
      const ends = arcs.flatMap((arc) => [arc.source, arc.target]).filter(Boolean);
      assert.equal(ends.length, each.source === each.target ? 1 : 2);
    }
  }
});

test("rows are no wider than the page unless a caption is", () => {
  for (const { points } of pictures) {
    for (const { row } of lay(points)) assert.ok(row.width <= WIDTH + EDGE);
  }
});

test("a span stands above those nested in it", () => {
  const marks = [mark(0, [[0, 25]]), mark(1, [[12, 25]]), mark(2, [[12, 18]])];
  const [{ boxes }] = lay("Bank of the United States", marks);
  assert.deepEqual(
    boxes.map((box) => box.level),
    [2, 1, 0],
  );
});

test("a box stands over its text, piece by piece", () => {
  const [
    {
      row,
      boxes: [box],
    },
  ] = lay("one two three", [
    mark(0, [
      [4, 7],
      [8, 10],
    ]),
  ]);
  const [, two, three] = row.xs;
  assert.deepEqual(box.pieces, [
    [two, two + 3 * COLUMN],
    [three, three + 2 * COLUMN],
  ]);
});

test("a wide caption moves the next word away", () => {
  const marks = [0, 1, 2].map((at) => mark(at, [[2 * at, 2 * at + 1]], "a-long-label"));
  const [{ boxes }] = lay("a b c", marks);
  assert.deepEqual(
    boxes.map((box) => box.level),
    [0, 0, 0],
  );
});

test("an arc to the next row goes on from its start, its caption once", () => {
  const text = "word ".repeat(12).trim();
  const ends = [mark(0, [[20, 24]]), mark(1, [[50, 54]])];
  const [first, second] = lay(text, ends, [link(0, "r", ...ends)]);
  const [[out], [into]] = [first.arcs, second.arcs];
  assert.deepEqual([out.caption, into.caption], ["r", ""]);
  assert.ok(out.free >= first.row.width);
  assert.ok(into.free <= 0);
});

test("an arc to the next row is named there where its own row has no room", () => {
  const text = "word ".repeat(14).trim();
  const ends = [mark(0, [[45, 49]]), mark(1, [[65, 69]])];
  for (const pair of [ends, ends.toReversed()]) {
    const [first, second] = lay(text, ends, [link(0, "a-long-name", ...pair)]);
    const [[out], [into]] = [first.arcs, second.arcs];
    assert.deepEqual([out.caption, into.caption], ["", "a-long-name"]);
    assert.ok(out.free <= WIDTH && into.free >= 0);
  }
});

test("the caption of an arc that goes on stays on the page", () => {
  const text = "word ".repeat(60).trim();
  for (const far of [55, 155]) {
    const ends = [mark(0, [[45, 49]]), mark(1, [[far, far + 4]])];
    for (const strip of lay(text, ends, [link(0, "a-name-that-is-very-long-indeed", ...ends)])) {
      for (const arc of strip.arcs) assert.ok(arc.label[0] >= 0 && arc.label[1] <= WIDTH);
    }
  }
});

test("an arc over several rows is two stubs that name the far ends", () => {
  const text = "one " + "word ".repeat(30) + "two";
  const ends = [mark(0, [[0, 3]]), mark(1, [[text.length - 3, text.length]])];
  const strips = lay(text, ends, [link(0, "r", ...ends)]);
  const captions = strips.flatMap(({ arcs }) => arcs.map((arc) => arc.caption));
  assert.deepEqual(captions, ["r → two", "one → r"]);
});

test("an end in another line is named, too", () => {
  const [here, there] = [mark(0, [[0, 3]]), mark(1, [[4, 7]])];
  const points = Array.from("one\ntwo");
  const setting = { width: WIDTH, fonts };
  const [
    {
      arcs: [arc],
    },
  ] = layout(points, [0, 3], [here], [link(0, "r", here, there)], setting);
  assert.equal(arc.caption, "r → two");
  assert.equal(arc.target, null);
});

test("an end in another line is named, whichever row the end in this line is in", () => {
  const line = "word ".repeat(12);
  const points = Array.from(`one\n${line}`);
  for (const start of [4, 4 + 40]) {
    const [here, there] = [mark(0, [[start, start + 4]]), mark(1, [[0, 3]])];
    const links = [link(0, "r", there, here)];
    const strips = layout(points, [4, points.length], [here], links, { width: 200, fonts });
    const captions = strips.flatMap(({ arcs }) => arcs.map((arc) => arc.caption));
    assert.deepEqual(captions, ["one → r"]);
  }
});

test("a root comes straight from above its word", () => {
  const word = mark(0, [[0, 3]], "word", { bare: true });
  const [
    {
      arcs: [arc],
    },
  ] = lay("one two", [word], [link(0, "root", word, word)]);
  assert.deepEqual([arc.source, arc.ends[0]], [null, arc.ends[1]]);
  assert.deepEqual(arc.target, { x: 12, y: 0, side: null });
});

test("arcs of bare words stand on what is over the words", () => {
  const words = [mark(0, [[0, 3]], "w", { bare: true }), mark(1, [[4, 7]], "w", { bare: true })];
  const [
    {
      boxes,
      arcs: [arc],
    },
  ] = lay("one two", [...words, mark(2, [[0, 3]])], [link(0, "r", ...words)]);
  assert.equal(arc.source.y, boxes[2].top);
  assert.equal(arc.target.y, 0);
});

test("the feet of two arcs on one box are in the order of their targets", () => {
  const marks = [0, 1, 2].map((at) => mark(at, [[4 * at, 4 * at + 3]], "Action"));
  const [
    {
      arcs: [near, far],
    },
  ] = lay("one two six", marks, [
    link(0, "r", marks[0], marks[1]),
    link(1, "r", marks[0], marks[2]),
  ]);
  assert.ok(far.source.x < near.source.x);
  assert.ok(near.height < far.height);
});

test("a foot steps aside where a caption stands over its box", () => {
  const marks = [mark(0, [[0, 6]], "Adj"), mark(1, [[0, 6]], "Org"), mark(2, [[14, 18]], "V")];
  const [
    {
      boxes,
      arcs: [arc],
    },
  ] = lay("United States said", marks, [link(0, "r", marks[0], marks[2])]);
  assert.ok(arc.source.x <= boxes[1].left || boxes[1].right <= arc.source.x);
  assert.equal(arc.source.y, boxes[0].top - CAPTION / 2);
});

test("a span is not torn apart where the row can end before it", () => {
  const text = "word ".repeat(8) + "some of the lysis buffer here";
  const strips = lay(text, [mark(0, [[40, text.length - 5]])], []);
  assert.deepEqual(
    strips.map(({ boxes }) => boxes.length),
    [0, 1],
  );
});

test("a long word is cut between letters", () => {
  const strips = lay("👩‍🔬".repeat(100) + "e\u0301".repeat(100));
  const words = strips.flatMap(({ row }) => row.words);
  assert.ok(words.length > 5);
  for (const word of words) assert.match(word.text, /^(👩‍🔬)*(e\u0301)*$/u);
});

test("words are set in the order they are read", () => {
  const cases = [
    ["one two", [0, 1]],
    ["אחת שתיים", [1, 0]],
    ["one אחת שתיים two", [0, 2, 1, 3]],
    ["אחת one two שתיים", [3, 1, 2, 0]],
    ["אחת Windows 11 שתיים", [3, 1, 2, 0]],
    ["אחת 11 שתיים", [2, 1, 0]],
  ];
  for (const [text, order] of cases) {
    const [{ row }] = lay(text);
    assert.deepEqual(
      [...row.xs.keys()].sort((one, other) => row.xs[one] - row.xs[other]),
      order,
    );
  }
});

test("a span in a word from right to left is at the right", () => {
  const [
    {
      row,
      boxes: [box],
    },
  ] = lay("שלום", [mark(0, [[0, 1]])]);
  const end = row.xs[0] + 4 * COLUMN;
  assert.deepEqual(box.pieces, [[end - COLUMN, end]]);
});

test("a tree has its words in order, parts under the middle of what they make, nothing over another", () => {
  const points = Array.from("the old town slept");
  const marks = [
    [0, 18],
    [0, 12],
    [13, 18],
  ].map((each, at) => mark(at, [each], "NP"));
  const children = new Map([[0, [marks[1], marks[2]]]]);
  const [{ root, width }] = treesOf(points, [marks[0]], children, fonts);
  const nodes = [...walk(root)];
  const leaves = nodes.filter((node) => !node.mark);
  assert.deepEqual(
    leaves.map((node) => node.text),
    ["the", "old", "town", "slept"],
  );
  assert.ok(
    leaves.every(
      (node, at) => !at || leaves[at - 1].x + leaves[at - 1].width / 2 < node.x - node.width / 2,
    ),
  );
  assert.equal(nodes[1].x, (leaves[0].x + leaves[2].x) / 2);
  assert.deepEqual(
    nodes.filter((node) => node.mark).map((node) => node.rank),
    [2, 1, 1],
  );
  assert.ok(
    nodes.every(
      (node) => node.x - node.width / 2 >= -EDGE && node.x + node.width / 2 <= width + EDGE,
    ),
  );
});

test("a tree may be deeper than the stack", () => {
  const marks = Array.from({ length: 20_000 }, (_, at) => mark(at, [[0, 1]], "X"));
  const children = new Map(marks.slice(1).map((each, at) => [at, [each]]));
  assert.equal(treesOf(["a"], [marks[0]], children, fonts)[0].rank, 20_000);
});

test("hidden characters are shown, joiners left alone", () => {
  const shown = {
    "a\tb\nc": "a⇥b⏎c",
    "\x00\x7f": "⟨00⟩⟨7F⟩",
    "a\u202eb\ufeff": "a⟨202E⟩b⟨FEFF⟩",
    "\ud800": "⟨D800⟩",
  };
  for (const [text, signs] of Object.entries(shown)) assert.equal(visible(text), signs);
  for (const text of ["👩‍🔬", "می‌خواهم", "plain"]) assert.equal(visible(text), text);
});

test("letters are what readers count, and cut text ends between them", () => {
  assert.deepEqual(letters("e\u0301👩‍🔬"), ["e\u0301", "👩‍🔬"]);
  assert.equal(elide("four", 4), "four");
  assert.equal(elide("👩‍🔬".repeat(5), 3), "👩‍🔬👩‍🔬…");
});

test("the first letter gives the direction", () => {
  const ways = { abc: false, שלום: true, "(مرحبا": true, 2024: null, "...": null };
  for (const [text, backward] of Object.entries(ways)) assert.equal(isBackward(text), backward);
});
