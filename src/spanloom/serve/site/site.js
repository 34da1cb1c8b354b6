/** The page: a text goes to the server it came from, and what comes back is drawn. */

import { draw } from "../../viewer/draw/draw.js";
import { html } from "../../viewer/draw/dom.js";
import { visible } from "../../viewer/draw/text.js";
import { chosen, offer } from "./choice.js";
import { KINDS, jsonOf, save } from "./files.js";
import { listenForFiles, sizeOf, textOf } from "./input.js";
import { linkOf, textIn } from "./link.js";
import { Locked, Server } from "./server.js";
import { Trouble } from "./trouble.js";

const IDS = [
  ...["model", "ask", "text", "size", "layers", "annotate", "cancel", "file", "link"],
  ...["access", "token", "status", "trouble", "result", "files", "copy", "drawing"],
];

/**
 * Begin: ask what the model can do, then let the reader ask.
 * @param {Document} page
 */
export function start(page) {
  new Site(page).begin();
}

class Site {
  #running = null; // AbortController of what is under way
  #again = null; // what is tried again when the reader says so

  constructor(page) {
    this.page = page;
    this.window = page.defaultView;
    this.at = Object.fromEntries(IDS.map((id) => [id, page.getElementById(id)]));
    this.server = new Server(this.window, (message) => this.#say(message));
  }

  begin() {
    this.#listen();
    this.at.files.append(...KINDS.map((kind) => this.#saver(kind)));
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
    on(at.ask, "keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at.ask.requestSubmit();
    });
    on(at.text, "input", () => this.#measure());
    on(at.layers, "change", () => this.#measure());
    on(at.cancel, "click", () => this.#running.abort());
    on(at.trouble.querySelector("button"), "click", () => this.#again());
    on(at.link, "click", () => this.#attempt("making a link", () => this.#link()));
    on(at.copy, "click", () => this.#attempt("copying", (signal) => this.#copy(signal)));
    on(this.window, "hashchange", () => this.#attempt("reading the link", () => this.#unfold()));
    listenForFiles(at.ask, at.file, (file) => this.#open(file));
  }

  /** Learn what the model can do. */
  async #meet(signal) {
    const model = await this.server.model(signal);
    this.most = model.limits.characters;
    this.at.model.textContent = [model.name, model.license].filter(Boolean).map(visible).join(", ");
    offer(this.at.layers, model);
    this.at.ask.hidden = false;
    this.#measure();
    this.at.text.focus();
    await this.#unfold();
  }

  /** Fill in the text that the address holds; nobody is asked about it yet. */
  async #unfold() {
    const text = await textIn(this.window.location.hash);
    if (text !== null) this.#fill(text);
  }

  /** Have the address hold the text. */
  async #link() {
    this.window.history.replaceState(null, "", await linkOf(this.at.text.value));
    const copied = await this.#clip(this.window.location.href);
    return `the address of this page holds the text now${copied ? ", and is copied" : ""}`;
  }

  #annotate() {
    if (this.at.annotate.disabled) return;
    const request = { text: this.at.text.value, tasks: chosen(this.at.layers) };
    this.#attempt("annotating", (signal) => this.#show(request, signal));
  }

  async #show(request, signal) {
    const data = await this.server.annotate(request, "page", signal);
    this.shown?.stop();
    this.at.result.hidden = false;
    this.shown = draw(this.at.drawing, data, { chosen: this.shown?.chosen });
    this.request = request;
    this.at.result.scrollIntoView({ block: "nearest" });
    return countOf(data);
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
    this.#attempt(`reading ${file.name}`, async () => this.#fill(await textOf(file, this.most)));
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
    const { over, message } = sizeOf(this.at.text.value, this.most);
    this.at.size.textContent = message;
    for (const element of [this.at.text, this.at.size]) element.classList.toggle("over", over);
    this.at.annotate.disabled = over || !this.at.text.value || !chosen(this.at.layers).length;
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
  return `${sum("spans")} spans, ${sum("links")} links`;
}
