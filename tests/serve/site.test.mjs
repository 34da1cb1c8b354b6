// The modules of the page that need no page: node --test site.test.mjs

import assert from "node:assert/strict";
import { test } from "node:test";

import { Asking, QUERIES, partsOf } from "../../src/spanloom/serve/site/asking.js";
import { sizeOf, textOf } from "../../src/spanloom/serve/site/input.js";
import { linkOf, textIn } from "../../src/spanloom/serve/site/link.js";
import { Locked, Server } from "../../src/spanloom/serve/site/server.js";
import { start } from "../../src/spanloom/serve/site/site.js";
import { asked, annotating, offersOf, sentenceOf } from "../../src/spanloom/serve/site/tasks.js";
import { Trouble } from "../../src/spanloom/serve/site/trouble.js";
import { crc32 } from "../../src/spanloom/serve/site/zip.js";

const TEXTS = [
  "",
  "Ada met Bob.",
  "😀 e\u0301 שלום\r\n\t\u0000",
  "\ufeffmark",
  "a".repeat(100_000),
];
const PROBLEM = { title: "Unprocessable Entity", detail: "text: NUL U+0000", where: "text" };

/** A window whose server gives these replies in turn, an error being raised. */
function windowOf(replies) {
  const [stored, asked] = [new Map(), []];
  const fetch = async (path, how) => {
    asked.push({ path, ...how });
    const [status, body, headers] = replies.shift();
    if (status === 0) throw new TypeError("no connection");
    return new Response(JSON.stringify(body), { status, headers });
  };
  const sessionStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
  };
  return { fetch, asked, sessionStorage, setTimeout, clearTimeout };
}

function modelOf(replies, said = [], signal = new AbortController().signal) {
  return new Server(windowOf(replies), (line) => said.push(line)).model(signal);
}

test("a link gives back the text that it holds", async () => {
  for (const text of TEXTS) assert.equal(await textIn(await linkOf(text)), text);
});

test("where nothing deflates, a link holds the text as it is", async () => {
  const { CompressionStream } = globalThis;
  delete globalThis.CompressionStream;
  try {
    assert.equal(await linkOf("Ada?>"), "#text=u.QWRhPz4");
  } finally {
    globalThis.CompressionStream = CompressionStream;
  }
  assert.equal(await textIn("#text=u.QWRhPz4"), "Ada?>");
});

test("an address may hold no text, or a broken one", async () => {
  assert.equal(await textIn(""), null);
  assert.equal(await textIn("#other"), null);
  for (const broken of ["d.", "d.AAAA", "u.!", "u.gA"]) {
    await assert.rejects(textIn(`#text=${broken}`), /holds no whole text/);
  }
});

test("no link is made that is too long, or that would lose half a character", async () => {
  const noise = Array.from({ length: 20_000 }, (_, at) => String.fromCodePoint(0x4e00 + at));
  await assert.rejects(
    linkOf(noise.join("")),
    /would have [\d,]+ characters; expected up to 30,000/,
  );
  await assert.rejects(linkOf("a\ud800"), /half a character/);
});

test("a link that unfolds to more than any text is not followed", async () => {
  await assert.rejects(linkOf("a".repeat(9_000_000)).then(textIn), Trouble);
});

test("lengths are counted as the server counts them", () => {
  assert.deepEqual(sizeOf("😀é", 2), { over: false, message: "2 of 2 characters" });
  const long = { over: true, message: "1,502 of 1,000 characters: 502 too many; send it in parts" };
  assert.deepEqual(sizeOf("a".repeat(1502), 1000), long);
});

test("a file is read as UTF-8, or told by its name", async () => {
  assert.equal(await textOf(new File(["Böb"], "a.txt"), 10), "Böb");
  await assert.rejects(textOf(new File([new Uint8Array([0xff])], "b.txt"), 10), /b\.txt: expected/);
  await assert.rejects(textOf(new File(["a".repeat(50)], "c.txt"), 10), /c\.txt: 50 bytes/);
});

test("a sum is that of the standard", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
});

test("what the server says is told, and whether it may help to try again", async () => {
  const told = async (...reply) => modelOf([reply]).catch((error) => error);
  const wrong = await told(422, PROBLEM);
  assert.equal(wrong.message, "Unprocessable Entity: text: NUL U+0000");
  assert.equal(wrong.passing, false);
  assert.equal((await told(500, PROBLEM)).passing, true);
  assert.equal((await told(502, null)).message, "Status 502");
  assert.ok((await told(401, PROBLEM)) instanceof Locked);
  const away = await told(0);
  assert.deepEqual([away.message, away.passing], ["The server does not answer.", true]);
});

test("a busy server is asked again when it says so, a few times", async () => {
  const [said, busy] = [[], [503, PROBLEM, { "Retry-After": "0" }]];
  assert.deepEqual(await modelOf([busy, busy, [200, { name: "m" }]], said), { name: "m" });
  assert.equal(said[1], "The server is busy; asking again in 0 s (2 of 4).");
  await assert.rejects(modelOf(Array(9).fill(busy)), Trouble);
});

test("whoever waits for a busy server can give up", async () => {
  const given = new AbortController();
  const busy = [503, PROBLEM, { "Retry-After": "60" }];
  const waiting = modelOf([busy], [], given.signal);
  setTimeout(() => given.abort(), 20);
  await assert.rejects(waiting, { name: "AbortError" });
});

test("a token is kept with the tab and sent", async () => {
  const window = windowOf([[200, {}]]);
  const server = new Server(window, () => {});
  server.token = "secret";
  await server.model(new AbortController().signal);
  assert.equal(window.asked[0].headers.Authorization, "Bearer secret");
});

const TASKS = [
  { name: "ner", analysis: "names" },
  { name: "relations", analysis: "relations", on_request: true },
  { name: "coref", analysis: "coreference", doubt: "f1 38" },
  { name: "answers", analysis: "names", endpoints: ["/v1/ask"] },
].map((task) => ({ layer: `${task.name}s`, endpoints: ["/v1/annotate"], ...task }));
const ANALYSES = ["names", "relations", "coreference", "tree"].map((key) => ({ key, title: key }));
const MODEL = { name: "m", language: "en", tasks: TASKS, analyses: ANALYSES };

test("a text is sent with the usual tasks, and with those whose layers were asked for", () => {
  const tasks = annotating(MODEL);
  assert.deepEqual(asked(tasks, new Map()), ["ner"]);
  assert.deepEqual(asked(tasks, new Map([["ners", false]])), ["ner"]); // to be shown again at once
  const chosen = new Map([
    ["corefs", true],
    ["relationss", false],
  ]);
  assert.deepEqual(asked(tasks, chosen), ["ner", "coref"]);
});

test("what is not sent is offered", () => {
  const { analyses, layers } = offersOf(MODEL, ["ner"]);
  assert.equal(analyses, ANALYSES);
  const states = layers.map(({ name, absent, doubt, aside }) => [name, absent, doubt, aside]);
  assert.deepEqual(states, [
    ["ners", false, undefined, undefined],
    ["relationss", true, undefined, true],
    ["corefs", true, "f1 38", undefined],
  ]);
});

test("one sentence says what there is, and which language is read if anybody knows", () => {
  const says = (language) => sentenceOf({ ...MODEL, language });
  const list = "shows in a text: names, relations and coreference.";
  assert.equal(says("en"), `${list} The model m reads English.`);
  assert.equal(says("de"), `${list} The model m reads German.`);
  for (const language of [null, "multilingual", "<b>"])
    assert.equal(says(language), `${list} Model: m.`);
  assert.match(sentenceOf({ ...MODEL, tasks: [] }), /^shows in a text: nothing\./);
});

const SERVES = { question: "/v1/ask", labels: "/v1/classify", range: "/v1/classify" };
const ABLE = QUERIES.map(({ key, kind }) => ({ name: key, kind, endpoints: [SERVES[key]] }));
const TRAINING = { question: "spanloom train recipe" };
const [QUESTION, LABELS, RANGE] = QUERIES;

/** An element as far as the page without a drawing needs one. */
class Element {
  classList = { toggle: () => {} };
  heard = {};
  constructor(name) {
    Object.assign(this, { name, attributes: {}, parts: [], hidden: true, textContent: "" });
  }
  addEventListener(name, heard) {
    this.heard[name] = heard;
  }
  contains() {
    return false;
  }
  focus() {}
  prepend(...parts) {
    this.parts.unshift(...parts);
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  append(...parts) {
    this.parts.push(...parts);
  }
  replaceChildren(...parts) {
    this.parts = parts;
  }
  querySelector(name) {
    return name === "mark" ? null : new Element(name);
  }
  querySelectorAll() {
    return this.inputs;
  }
  get shown() {
    const parts = this.parts.map((part) => part.shown ?? part).join("");
    return this.name === "mark" ? `[${parts}]` : parts;
  }
}

/** A page whose elements come into being when they are looked up. */
function pageOf() {
  const elements = new Map();
  const getElementById = (id) => {
    if (!elements.has(id)) elements.set(id, new Element("form"));
    return elements.get(id);
  };
  return { getElementById, createElement: (name) => new Element(name) };
}

/** The fields of such a page, and its server. */
function askingOf(replies, tasks = ABLE) {
  const page = pageOf();
  const { getElementById } = page;
  const window = windowOf(replies);
  const asking = new Asking(page, new Server(window, () => {}));
  asking.offer({ tasks, training: TRAINING });
  const ask = async (query, text, ...values) => {
    getElementById(`${query.key}-form`).inputs = values.map((value) => ({ value }));
    await asking.ask(query, text, new AbortController().signal);
    const { path, body } = window.asked.at(-1);
    return [getElementById("answer").parts.map((part) => part.shown), path, JSON.parse(body)];
  };
  return { ask, window, isHidden: (id) => getElementById(id).hidden, getElementById };
}

test("what the model can be asked has its fields, else the command that trains one is shown", () => {
  const ids = ["queries", "question-form", "labels-form", "range-form", "untrained"];
  const hidden = (tasks) => ids.map(askingOf([], tasks).isHidden);
  assert.deepEqual(hidden(ABLE), [false, false, false, false, true]);
  assert.deepEqual(hidden(ABLE.slice(1, 2)), [false, true, false, true, true]);
  const unserved = [{ name: "question", kind: "extractive_qa", endpoints: [] }, ...TASKS];
  assert.deepEqual(hidden(unserved), [true, true, true, true, false]);
  assert.equal(askingOf([], []).getElementById("train").textContent, "spanloom train recipe");
});

test("a task that learnt from single texts is asked before one that learnt from pairs", async () => {
  const [kind, answer] = [LABELS.kind, { label: "warm", value: null, score: 1 }];
  const pairs = { name: "pairs", kind, endpoints: ["/v1/classify"] };
  const single = { name: "single", kind, endpoints: ["/v1/annotate", "/v1/classify"] };
  for (const [tasks, asked] of [
    [[pairs, single], "single"],
    [[pairs], "pairs"],
  ]) {
    const { ask } = askingOf([[200, { classifications: [{ [asked]: answer }] }]], tasks);
    assert.deepEqual((await ask(LABELS, "Ada", "warm, cold"))[2].tasks, [asked]);
  }
});

test("an answer is highlighted in the text, with its score", async () => {
  const answer = { text: "Bob", fragments: [[8, 11]], score: 0.251 };
  const reply = { answers: [{ question: "Who?", answers: { question: answer } }] };
  const nothing = { answers: [{ question: "Who?", answers: { question: null } }] };
  const { ask, window } = askingOf([
    [200, reply],
    [200, nothing],
  ]);
  window.sessionStorage.setItem("spanloom-token", "secret");
  const [shown, path, body] = await ask(QUESTION, "😀 Ada +\nBob.", "Who?");
  assert.deepEqual(shown, ["Who? Bob (score 0.25)", "😀 Ada +\n[Bob]."]);
  assert.equal(path, "/v1/ask");
  assert.deepEqual(body, { text: "😀 Ada +\nBob.", tasks: ["question"], question: "Who?" });
  assert.equal(window.asked[0].headers.Authorization, "Bearer secret");
  assert.deepEqual((await ask(QUESTION, "Ada", "Who?"))[0], ["Who? no answer in this text"]);
});

test("a label or a number is told with its score", async () => {
  const { ask } = askingOf([
    [200, { classifications: [{ labels: { label: "warm", value: null, score: 0.5 } }] }],
    [200, { classifications: [{ range: { label: "number", value: 2.5, score: 1 } }] }],
    [200, { classifications: [{ range: null }] }],
  ]);
  const [label, path, labels] = await ask(LABELS, "Ada", " warm, cold ,");
  assert.deepEqual([label, path], [["warm (score 0.50)"], "/v1/classify"]);
  assert.deepEqual(labels, { text: "Ada", tasks: ["labels"], labels: ["warm", "cold"] });
  const [number, , range] = await ask(RANGE, "Ada", "0", "5.5");
  assert.deepEqual(number, ["2.5 (score 1.00)"]);
  assert.deepEqual(range, { text: "Ada", tasks: ["range"], range: [0, 5.5] });
  assert.deepEqual((await ask(RANGE, "?", "0", "1"))[0], ["nothing fits this text"]);
});

test("what is no question, no labels or no range is told and not sent", async () => {
  const { ask, window } = askingOf([]);
  await assert.rejects(ask(QUESTION, " ", "Who?"), /Type a text first/);
  await assert.rejects(ask(QUESTION, "Ada", " "), /Type a question/);
  await assert.rejects(ask(LABELS, "Ada", "warm,"), /Type two labels/);
  await assert.rejects(ask(RANGE, "Ada", "", "5"), /Type two numbers/);
  assert.deepEqual(window.asked, []);
});

test("offsets count characters, not halves of them", () => {
  const parts = partsOf("😀a😀b", [
    [1, 2],
    [3, 4],
  ]);
  const joined = parts.map(({ text, marked }) => (marked ? `[${text}]` : text)).join("");
  assert.equal(joined, "😀[a]😀[b]");
  assert.deepEqual(partsOf("", []), []);
});

test("a model that only answers says so", () => {
  const only = (...tasks) => sentenceOf({ ...MODEL, tasks });
  assert.equal(only(ABLE[0]), "answers questions. The model m reads English.");
  assert.match(only(...ABLE), /^answers questions, chooses among labels and chooses a number\./);
});

test("a page whose model only answers opens with a text to ask about", async () => {
  const model = { ...MODEL, tasks: ABLE.slice(0, 1), scores: [], training: TRAINING };
  const answer = { text: "Ada", fragments: [[0, 3]], score: 0.5 };
  const window = windowOf([
    [200, { ...model, limits: { characters: 1000 } }],
    [200, { answers: [{ question: "Who?", answers: { question: answer } }] }],
  ]);
  const page = { ...pageOf(), defaultView: window };
  Object.assign(window, { location: { hash: "" }, addEventListener: () => {} });
  const at = page.getElementById;
  at("text").value = "";
  start(page);
  const settled = () => new Promise((done) => setTimeout(done, 20));
  await settled();
  const visible = (...ids) => ids.map((id) => !at(id).hidden);
  assert.deepEqual(visible("bar", "ask", "queries", "question-form"), [true, true, true, true]);
  assert.deepEqual(visible("annotate", "hint", "labels-form", "untrained"), Array(4).fill(false));
  assert.match(at("text").value, /^Ada Lovelace/);
  assert.equal(at("status").textContent, "");
  at("question-form").inputs = [{ value: "Who?" }];
  at("question-form").heard.submit({ preventDefault: () => {} });
  await settled();
  assert.deepEqual(window.asked.map(({ path }) => path), ["/v1/model", "/v1/ask"]);
  assert.equal(at("answer").parts[0].shown, "Who? Ada (score 0.50)");
  at("text").heard.input();
  assert.deepEqual(at("answer").parts, []);
});
