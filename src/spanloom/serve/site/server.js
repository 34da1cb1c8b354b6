/** What the server is asked, and in plain words why it does not answer. */

import { Trouble } from "./trouble.js";

const TRIES = 5; // of a request that is told to come again
const TOKEN = "spanloom-token"; // its key in the storage, which ends with the tab

/** The server answers those alone who send a token, and this one was not sent, or is wrong. */
export class Locked extends Trouble {}

/** The API that the page came from. */
export class Server {
  /**
   * @param {Window} window
   * @param {(said: string) => void} say  Is told when the server is busy.
   */
  constructor(window, say) {
    this.window = window;
    this.say = say;
  }

  /** Return what the server tells of its model and its limits. */
  async model(signal) {
    return this.#request("/v1/model", {}, signal);
  }

  /**
   * Return a text, annotated.
   * @param {{text: string, tasks: string[]}} request
   * @param {string} format  As /v1/annotate knows them.
   */
  async annotate(request, format, signal) {
    const { documents } = await this.#post("/v1/annotate", { ...request, format }, signal);
    return documents[0];
  }

  /**
   * Return what each task answers to a question, or chooses among labels or numbers.
   * @param {string} address  /v1/ask or /v1/classify.
   * @param {object} request  With one text.
   * @returns {Promise<Object<string, ?object>>}
   */
  async query(address, request, signal) {
    const { answers, classifications } = await this.#post(address, request, signal);
    return answers ? answers[0].answers : classifications[0];
  }

  /** Send this token from now on, until the tab is closed. */
  set token(token) {
    this.window.sessionStorage.setItem(TOKEN, token);
  }

  #post(path, request, signal) {
    const headers = { "Content-Type": "application/json" };
    const how = { method: "POST", body: JSON.stringify(request), headers };
    return this.#request(path, how, signal);
  }

  async #request(path, how, signal) {
    for (let tries = 1; ; tries += 1) {
      const reply = await this.#reply(path, how, signal);
      if (reply.ok) return await whole(reply, signal);
      const wait = secondsOf(reply);
      if (wait === null || tries === TRIES) throw await troubleOf(reply);
      this.say(`The server is busy; asking again in ${wait} s (${tries} of ${TRIES - 1}).`);
      await pause(this.window, 1000 * wait, signal);
    }
  }

  async #reply(path, how, signal) {
    const token = this.window.sessionStorage.getItem(TOKEN);
    const access = token === null ? {} : { Authorization: `Bearer ${token}` };
    const headers = { ...how.headers, ...access };
    return orAway(this.window.fetch(path, { ...how, headers, signal }), signal);
  }
}

function whole(reply, signal) {
  return orAway(reply.json(), signal);
}

/** Wait for the server; what goes wrong on the way means that it is away, unless we gave up. */
async function orAway(promise, signal) {
  try {
    return await promise;
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Trouble("The server does not answer.", { cause: error, passing: true });
  }
}

/** Return after how many seconds the server wants to be asked again, null if it does not. */
function secondsOf(reply) {
  const seconds = Number(reply.headers.get("Retry-After") ?? NaN);
  return reply.status === 503 && seconds >= 0 ? seconds : null;
}

/** Say what a reply says that is no answer; a proxy before the server may say nothing. */
async function troubleOf(reply) {
  const { title, detail } = (await reply.json().catch(() => null)) ?? {};
  const message = [title ?? `Status ${reply.status}`, detail].filter(Boolean).join(": ");
  return reply.status === 401
    ? new Locked(message)
    : new Trouble(message, { passing: reply.status >= 500 });
}

function pause(window, milliseconds, signal) {
  return new Promise((done, failed) => {
    const timer = window.setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => {
      window.clearTimeout(timer);
      failed(signal.reason);
    });
  });
}
