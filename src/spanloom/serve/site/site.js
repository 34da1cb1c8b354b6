/** The page: a text goes to the server it came from, and what comes back is drawn. */

import { draw } from "../../page/draw/draw.js";
import { visible } from "../../page/draw/text.js";
import { chosen, offer } from "./choice.js";
import { listenForFiles, sizeOf, textOf } from "./input.js";
import { Locked, Server, Trouble } from "./server.js";

const IDS = [
  ...["model", "ask", "text", "size", "layers", "annotate", "cancel", "file", "link"],
  ...["access", "token", "status", "trouble", "result", "files", "drawing"],
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
    this.server = new Server(this.window, (said) => this.#say(said));
  }

  begin() {
    this.#listen();
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
    listenForFiles(at.ask, at.file, (file) => this.#open(file));
  }

  /** Learn what the model can do. */
  async #meet(signal) {
    const model = await this.server.model(signal);
    this.most = model.limits.characters;
    this.at.model.textContent = [model.name, model.licence].filter(Boolean).map(visible).join(", ");
    offer(this.at.layers, model);
    this.at.ask.hidden = false;
    this.#measure();
    this.at.text.focus();
  }

  #annotate() {
    if (this.at.annotate.disabled) return;
    const asked = { text: this.at.text.value, tasks: chosen(this.at.layers) };
    this.#attempt("annotating", (signal) => this.#show(asked, signal));
  }

  async #show(asked, signal) {
    const data = await this.server.annotate(asked, "page", signal);
    this.shown?.stop();
    this.at.result.hidden = false;
    this.shown = draw(this.at.drawing, data);
    this.at.result.scrollIntoView({ block: "nearest" });
    return countOf(data);
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
    const { over, said } = sizeOf(this.at.text.value, this.most);
    this.at.size.textContent = said;
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
    }
    if (this.#running !== running) return;
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
  }

  #say(said) {
    this.at.status.textContent = visible(said);
  }
}

/** Say how much there is to see. */
function countOf(data) {
  const sides = data.documents.flatMap((document) => document.sides);
  const sum = (kind) => sides.reduce((count, side) => count + side[kind].length, 0);
  return `${sum("spans")} spans, ${sum("links")} links`;
}
