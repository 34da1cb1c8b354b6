/** The page: a text goes to the server it came from, and what comes back is drawn. */

import { quantity } from "../../viewer/draw/counts.js";
import { draw } from "../../viewer/draw/draw.js";
import { html } from "../../viewer/draw/dom.js";
import { visible } from "../../viewer/draw/text.js";
import { Asking, QUERIES } from "./asking.js";
import { EXAMPLES, LANGUAGE } from "./examples.js";
import { KINDS, jsonOf, save } from "./files.js";
import { listenForFiles, sizeOf, textOf } from "./input.js";
import { linkOf, textIn } from "./link.js";
import { Locked, Server } from "./server.js";
import { aboutModel, annotating, asked, offersOf, sentenceOf } from "./tasks.js";
import { Trouble } from "./trouble.js";

const IDS = [
  ...["about", "bar", "edit", "examples", "ask", "text", "size", "annotate", "cancel", "file"],
  ...["link", "access", "token", "status", "trouble", "result", "warning", "files", "copy"],
  ...["drawing", "model", "hint"],
];

/**
 * Begin: ask what the model can do, draw a text, then let the reader ask.
 * @param {Document} page
 */
export function start(page) {
  new Site(page).begin();
}

class Site {
  #running = null; // AbortController of what is under way
  #again = null; // what is tried again when the reader says so
  #state = { chosen: new Map(), analysis: null }; // what the reader wants to see

  constructor(page) {
    this.page = page;
    this.window = page.defaultView;
    this.at = Object.fromEntries(IDS.map((id) => [id, page.getElementById(id)]));
    this.server = new Server(this.window, (message) => this.#say(message));
    this.asking = new Asking(page, this.server);
  }

  begin() {
    this.#listen();
    this.at.files.prepend(...KINDS.map((kind) => this.#saver(kind)));
    this.#attempt("asking for the model", (signal) => this.#meet(signal));
  }

  #listen() {
    const { at } = this;
    const on = (element, name, heard) => element.addEventListener(name, heard);
    const submitted = (form, heard) =>
      on(form, "submit", (event) => {
        event.preventDefault();
        heard();
      });
    submitted(at.ask, () => this.#annotate());
    submitted(at.access, () => this.#unlock());
    for (const query of QUERIES) submitted(this.asking.formOf(query), () => this.#query(query));
    on(at.ask, "keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at.ask.requestSubmit();
    });
    on(at.text, "input", () => this.#measure());
    on(at.edit, "click", () => this.#unfold(at.ask.hidden));
    on(at.cancel, "click", () => this.#running.abort());
    on(at.trouble.querySelector("button"), "click", () => this.#again());
    on(at.link, "click", () => this.#attempt("making a link", () => this.#link()));
    on(at.copy, "click", () => this.#attempt("copying", (signal) => this.#copy(signal)));
    on(this.window, "hashchange", () => this.#attempt("reading the link", (s) => this.#follow(s)));
    listenForFiles(at.ask, at.file, (file) => this.#open(file));
  }

  /** Learn what the model can do, and draw the text of the address or an example. */
  async #meet(signal) {
    const { at, page } = this;
    this.model = await this.server.model(signal);
    at.about.textContent = sentenceOf(this.model);
    at.model.append(...aboutModel(page, this.model));
    at.model.hidden = false;
    this.annotates = annotating(this.model).length > 0;
    const answers = this.asking.offer(this.model);
    at.bar.hidden = !this.annotates && !answers;
    at.annotate.hidden = at.hint.hidden = !this.annotates;
    if (at.bar.hidden) return "The model annotates no texts; the API says what it does.";
    const examples = [LANGUAGE, null].includes(this.model.language) ? EXAMPLES : [];
    at.examples.append(...examples.map((example) => this.#example(example)));
    const linked = await this.#follow(signal);
    if (linked !== null) return linked;
    if (examples.length) return this.#draw(examples[0].text, signal);
    this.#unfold(true);
    return "";
  }

  #example({ name, text }) {
    const button = html(this.page, "button", { type: "button" }, name);
    const act = (signal) => this.#draw(text, signal);
    button.addEventListener("click", () => this.#attempt("annotating", act));
    return button;
  }

  /** Draw the text that the address holds; null where it holds none. */
  async #follow(signal) {
    const text = await textIn(this.window.location.hash);
    return text === null ? null : this.#draw(text, signal);
  }

  /** Fill in a text and have it annotated. */
  async #draw(text, signal) {
    this.#fill(text);
    if (this.at.annotate.disabled) {
      this.#unfold(true);
      return "";
    }
    return this.#show(text, signal);
  }

  /** Have the address hold the text. */
  async #link() {
    this.window.history.replaceState(null, "", await linkOf(this.at.text.value));
    const copied = await this.#clip(this.window.location.href);
    return `the address of this page holds the text now${copied ? ", and is copied" : ""}`;
  }

  #annotate() {
    if (this.at.annotate.disabled) return;
    const text = this.at.text.value;
    this.#attempt("annotating", (signal) => this.#show(text, signal));
  }

  /** Ask something of the text, and show the answer above its annotation. */
  #query(query) {
    const text = this.at.text.value;
    this.#attempt("asking", (signal) => this.asking.ask(query, text, signal));
  }

  /** Annotate a text with what the reader wants to see, and draw it. */
  async #show(text, signal) {
    const tasks = asked(annotating(this.model), this.#state.chosen);
    const request = { text, tasks };
    const data = await this.server.annotate(request, "page", signal);
    this.shown?.stop();
    this.at.result.hidden = false;
    this.#unfold(false);
    this.shown = draw(this.at.drawing, data, {
      state: this.#state,
      offers: offersOf(this.model, tasks),
      wanted: () => this.#attempt("annotating", (again) => this.#show(text, again)),
    });
    this.#warn(data.warnings ?? []);
    this.request = request;
    return countOf(data);
  }

  /** Say what makes the annotation doubtful, such as a language that the model does not know. */
  #warn(warnings) {
    this.at.warning.textContent = warnings.map(visible).join(" ");
    this.at.warning.hidden = !warnings.length;
  }

  /** Show the form, or fold it away. */
  #unfold(open) {
    const { ask, edit, text } = this.at;
    if (open === !ask.hidden) return;
    const held = ask.contains(this.page.activeElement);
    ask.hidden = !open;
    edit.setAttribute("aria-expanded", String(open));
    if (open) text.focus();
    else if (held) edit.focus();
  }

  #saver(kind) {
    const button = html(this.page, "button", { type: "button" }, kind.name);
    const act = async (signal) => save(this.page, kind, await kind.content(this.#source(signal)));
    button.addEventListener("click", () => this.#attempt(`making ${kind.file}`, act));
    return button;
  }

  async #copy(signal) {
    const copied = await this.#clip(await jsonOf(this.#source(signal)));
    if (!copied) throw new Trouble("This browser lets the page copy nothing; JSON can be saved.");
    return "copied";
  }

  /** Return where files come from: what was asked for the drawing, whatever is typed since. */
  #source(signal) {
    this.shown.complete();
    const sent = (format) => this.server.annotate(this.request, format, signal);
    return { sent, host: this.at.drawing };
  }

  /** Put a text on the clipboard; whether the browser lets us, which it does for safe addresses. */
  async #clip(text) {
    const done = this.window.navigator.clipboard?.writeText(text).then(() => true);
    return (await done?.catch(() => false)) ?? false;
  }

  #open(file) {
    const { limits } = this.model;
    const act = async () => this.#fill(await textOf(file, limits.characters));
    this.#attempt(`reading ${file.name}`, act);
  }

  #fill(text) {
    this.at.text.value = text;
    this.#measure();
  }

  #unlock() {
    this.server.token = this.at.token.value;
    this.at.token.value = "";
    this.at.access.hidden = true;
    this.#again();
  }

  /** Say how long the text is, and whether it can be sent. */
  #measure() {
    const { over, message } = sizeOf(this.at.text.value, this.model.limits.characters);
    this.at.size.textContent = message;
    for (const element of [this.at.text, this.at.size]) element.classList.toggle("over", over);
    this.at.annotate.disabled = over || !this.at.text.value || !this.annotates;
    this.asking.clear();
  }

  /** Do something that may take long, be given up, or fail; only one at a time. */
  async #attempt(what, act) {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.at.trouble.hidden = true;
    this.at.cancel.hidden = false;
    this.#say(`${what} …`);
    let outcome = "";
    try {
      outcome = (await act(running.signal)) ?? "";
    } catch (error) {
      if (running.signal.aborted) outcome = "given up";
      else this.#explain(error, () => this.#attempt(what, act));
    } finally {
      if (this.#running === running) this.#settle(outcome);
    }
  }

  #settle(outcome) {
    this.at.cancel.hidden = true;
    this.#say(outcome);
  }

  /** Say why something failed, and how to go on. */
  #explain(error, again) {
    if (!(error instanceof Trouble)) throw error;
    this.#again = again;
    if (error instanceof Locked) {
      this.at.access.hidden = false;
      this.at.token.focus();
      return;
    }
    this.at.trouble.hidden = false;
    this.at.trouble.querySelector("p").textContent = visible(error.message);
    this.at.trouble.querySelector("button").hidden = !error.passing;
  }

  #say(message) {
    this.at.status.textContent = visible(message);
  }
}

/** Say how much there is to see. */
function countOf(data) {
  const sides = data.documents.flatMap((document) => document.sides);
  const sum = (kind) => sides.reduce((count, side) => count + side[kind].length, 0);
  return `${quantity(sum("spans"), "span")}, ${quantity(sum("links"), "link")}`;
}
