// What the reader chooses, finds and is told: the modules of the drawing that need no page.
// Run by test_layout.py, or: node --test tests/viewer

import assert from "node:assert/strict";
import { test } from "node:test";

import { confusionTable, ratesOf } from "../../src/spanloom/viewer/draw/agreement.js";
import { quantity } from "../../src/spanloom/viewer/draw/counts.js";
import { placesOf } from "../../src/spanloom/viewer/draw/find.js";
import { alike, entitiesOf, statementsOf } from "../../src/spanloom/viewer/draw/statements.js";
import { treesOf, walk } from "../../src/spanloom/viewer/draw/tree.js";
import { ALL, View } from "../../src/spanloom/viewer/draw/view.js";
import { Text } from "../../src/spanloom/viewer/draw/view_model.js";

const ANALYSES = ["names", "roles", "coreference"].map((key) => ({ key, title: key, about: key }));
const NER = { name: "ner", shape: "spans", analysis: "names" };
const MENTIONS = { name: "mentions", shape: "spans", analysis: "names", aside: true };
const SRL = { name: "srl", shape: "tuples", analysis: "roles", labels: { ARG0: "who does it" } };
const COREF = { name: "coref", shape: "clusters", analysis: "coreference", doubt: "f1 38 on x" };

function viewOf(layers, state, offers) {
  return new View({ layers, analyses: ANALYSES, sides: [""] }, state, offers);
}

function fresh() {
  return { chosen: new Map(), analysis: null };
}

const shown = (view) => view.layers.filter((_, at) => !view.hidden.has(at)).map(({ name }) => name);

test("one analysis is shown at a time, the first that is sure", () => {
  const view = viewOf([COREF, SRL, NER, MENTIONS]);
  assert.deepEqual(view.analyses.map(({ key }) => key), ["names", "roles", "coreference"]);
  assert.deepEqual([view.analysis, shown(view)], ["names", ["ner"]]);
  view.choose("roles");
  assert.deepEqual(shown(view), ["srl"]);
  view.choose(ALL);
  assert.deepEqual(shown(view), ["srl", "ner"]); // neither what repeats nor what is doubtful
});

test("a doubtful analysis is off until the reader chooses it, then it stays on", () => {
  const state = fresh();
  const view = viewOf([COREF, NER], state);
  assert.deepEqual(shown(view), ["ner"]);
  view.choose("coreference");
  assert.deepEqual(shown(view), ["coref"]);
  const next = viewOf([COREF, NER], state);
  assert.deepEqual([next.analysis, shown(next)], ["coreference", ["coref"]]);
});

test("a page of doubtful layers alone begins with the first of its tabs", () => {
  assert.equal(viewOf([COREF]).analysis, "coreference");
});

test("what nobody looked for is asked for when it is shown", () => {
  const offer = { name: "coref", analysis: "coreference", colour: 3, doubt: "f1 38", absent: true };
  const offers = { analyses: ANALYSES, layers: [offer, { name: "ner", analysis: "names" }] };
  const view = viewOf([NER], fresh(), offers);
  assert.deepEqual(view.analyses.map(({ key }) => key), ["names", "coreference"]);
  assert.deepEqual(view.choose("names"), []);
  assert.deepEqual(view.choose("coreference"), ["coref"]);
  view.choose(ALL);
  assert.deepEqual(view.toggle(1), []); // it is on, so this switches it off
  assert.deepEqual(view.toggle(1), ["coref"]);
});

test("an offer says where a layer belongs, whatever its shape in this text", () => {
  const offers = { analyses: ANALYSES, layers: [{ name: "ner", analysis: "roles" }] };
  assert.equal(viewOf([NER], fresh(), offers).layers[0].analysis, "roles");
});

/** A text of one line with coreference and roles. */
function told() {
  const text = "Ada Byron saw Bob . She left him . Dora slept .";
  const at = (piece) => [[text.indexOf(piece), text.indexOf(piece) + piece.length]];
  const mention = (piece, cluster) => ({ layer: 0, label: "m", fragments: at(piece), cluster });
  const argument = (piece) => ({ layer: 1, label: "argument", fragments: at(piece) });
  const predicate = (piece) => ({ layer: 1, label: "predicate", fragments: at(piece) });
  const spans = [
    ...[mention("She", 1), mention("Ada Byron", 1), mention("Bob", 2), mention("him", 2)],
    ...[mention("Dora"), predicate("saw"), argument("Ada Byron"), argument("Bob")],
    ...[predicate("left"), argument("She"), predicate("slept"), argument("Dora slept")],
  ].map((span, number) => ({ id: `T${number}`, ...span }));
  const role = (label, source, target) => ({ id: "R", layer: 1, label, source, target });
  const links = [role("ARG0", 5, 6), role("ARG1", 5, 7), role("ARG0", 8, 9), role("ARG0", 10, 11)];
  const sides = [{ spans, links, loose: [] }];
  const lines = [[0, text.length]];
  return new Text({ name: "t", notes: [], text, lines, sides }, [COREF, SRL]).sides[0];
}

test("entities are named by their clearest mention, and told of by their roles", () => {
  const side = told();
  const entities = entitiesOf(side, [0]);
  assert.deepEqual(entities.map(({ name, mentions }) => [name, mentions.length]), [
    ["Ada Byron", 2],
    ["Bob", 2],
  ]);
  const said = (entity, counts = () => true) =>
    statementsOf(side, entity, counts).map((statement) => statement.said);
  assert.deepEqual(said(entities[0]), ["saw: who does it", "left: who does it"]);
  assert.deepEqual(said(entities[1]), ["saw: ARG1"]); // no words explain it
  assert.deepEqual(said(entities[0], () => false), []);
});

test("two spans are alike that share half of what either has", () => {
  const span = (...fragments) => ({ fragments });
  assert.ok(alike(span([0, 4]), span([0, 4])));
  assert.ok(alike(span([0, 4]), span([0, 8])));
  assert.ok(!alike(span([0, 4]), span([0, 9])));
  assert.ok(!alike(span([0, 4]), span([4, 8])));
  assert.ok(alike(span([0, 2], [4, 6]), span([0, 2], [4, 6])));
});

test("what is mentioned once is hidden until the reader wants it, beside gold it is shown", () => {
  const side = told();
  const dora = side.marks[4];
  const state = { chosen: new Map([["coref", true]]), analysis: "coreference" };
  const view = viewOf([COREF, SRL], state);
  assert.deepEqual([view.isSingleton(dora), view.shows(dora)], [true, false]);
  assert.ok(view.shows(side.marks[0]));
  view.singletons = true;
  assert.ok(view.shows(dora));
  const data = { layers: [COREF, SRL], analyses: ANALYSES, sides: ["gold", "predicted"] };
  assert.ok(new View(data, state).shows(dora));
});

test("a tooltip says label, words, layer and score", () => {
  const side = told();
  const link = { ...side.links[0], score: 0.5 };
  assert.deepEqual(side.text.describe(link), [
    "ARG0 (who does it): “saw” → “Ada Byron”",
    "layer srl, R, score 0.500",
  ]);
  const strange = { ...side.marks[5], label: "constructor" };
  assert.equal(side.text.describe(strange)[0], "constructor: saw");
});

test("a string is found in any case, and told in characters", () => {
  const find = (text, wanted) => placesOf(Array.from(text), wanted);
  assert.deepEqual(find("Ada ADA ada", "aDa"), [
    [0, 3],
    [4, 7],
    [8, 11],
  ]);
  assert.deepEqual(find("😀 é É", "é"), [
    [2, 3],
    [4, 5],
  ]);
  assert.deepEqual(find("aaa", "aa"), [[0, 2]]);
  assert.deepEqual(find("İstanbul", "i"), []); // its lower case has two characters
  assert.deepEqual(find("İstanbul", "stan"), [[1, 5]]);
  assert.deepEqual(find("Ada", ""), []);
  assert.deepEqual(find("a.b", "."), [[1, 2]]);
});

test("places that are found are those of a slow search", () => {
  const letters = ["a", "B", "😀"];
  const texts = Array.from({ length: 200 }, (_, seed) =>
    Array.from({ length: 8 }, (_, at) => letters[(seed * (at + 3) + (seed >> at)) % 3]),
  );
  for (const points of texts) {
    for (const wanted of ["a", "ab", "😀", "b😀a"]) {
      const needle = Array.from(wanted);
      const slow = [];
      for (let at = 0; at + needle.length <= points.length; at += 1) {
        const same = needle.every((sign, by) => points[at + by].toLowerCase() === sign);
        if (same && (!slow.length || slow.at(-1)[1] <= at)) slow.push([at, at + needle.length]);
      }
      assert.deepEqual(placesOf(points, wanted), slow);
    }
  }
});

test("rates are in percent, and none where nothing is counted", () => {
  assert.deepEqual(ratesOf(4, 2, 1), [50, 25, 100 / 3]);
  assert.deepEqual(ratesOf(4, 0, 0), [null, 0, 0]);
  assert.deepEqual(ratesOf(0, 0, 0), [null, null, null]);
});

test("a table of confusions has what is confused, with what is right between them", () => {
  const labels = [
    ["A", 3, 2, 1, 0],
    ["B", 1, 2, 1, 0],
    ["C", 9, 9, 9, 0],
  ];
  const confusions = [
    ["A", "B", 1],
    ["A", null, 1],
    [null, "A", 2],
  ];
  assert.deepEqual(confusionTable(confusions, labels), {
    rows: ["A", "B", null],
    columns: ["A", "B", null],
    counts: [
      [1, 1, 1],
      [0, 1, 0],
      [2, 0, 0],
    ],
  });
  const [one] = confusionTable([["A", "B", 1]], labels).counts;
  assert.deepEqual(one, [1, 1]); // nothing is missed, so there is no column for it
});

test("numbers have their nouns", () => {
  assert.equal(quantity(1, "link"), "1 link");
  assert.equal(quantity(0, "link"), "0 links");
  assert.equal(quantity(1200, "entity", "entities"), "1,200 entities");
});

const fonts = { text: (text) => 8 * text.length, caption: (text) => 6 * text.length };
const POINTS = Array.from("the old town slept in the deep snow of a long winter");

/** A tree of five levels over the words. */
function tree(how) {
  const bounds = [[0, 52], [0, 12], [13, 52], [19, 52], [22, 52], [36, 52]];
  const marks = bounds.map((pair, at) => ({ at, label: "NP", fragments: [pair] }));
  const children = new Map([
    [0, [marks[1], marks[2]]],
    [2, [marks[3]]],
    [3, [marks[4]]],
    [4, [marks[5]]],
  ]);
  return treesOf(POINTS, [marks[0]], children, fonts, how)[0];
}

const marksIn = (shown) => [...walk(shown.root)].filter((node) => node.mark).length;

test("a tree is folded from below until it fits, and not where it fits", () => {
  const whole = tree();
  assert.equal(marksIn(whole), 6);
  assert.equal(marksIn(tree({ width: whole.width })), 6);
  for (let width = 150; width < whole.width; width += 10) {
    const folded = tree({ width });
    assert.ok([...walk(folded.root)].some((node) => node.folded));
    const closed = folded.root.parts.every((part) => !part.mark || part.folded);
    assert.ok(folded.width <= width || closed);
  }
});

test("a node is opened and folded by the reader, whatever the width", () => {
  const state = (shown, at) => [...walk(shown.root)].find((node) => node.mark?.at === at)?.folded;
  assert.equal(state(tree({ open: new Map([[2, false]]) }), 2), true);
  const narrow = tree({ width: 260 });
  assert.equal(state(narrow, 2), true);
  const opened = tree({ width: 260, open: new Map([[2, true]]) });
  assert.equal(state(opened, 2), false);
  assert.equal(state(opened, 3), true);
});
