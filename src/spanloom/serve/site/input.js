/** The text as it is typed, pasted, dropped or opened: how long it is, and where it came from. */

import { Trouble } from "./trouble.js";

/**
 * Return how many characters a text has, as the server counts them.
 * @param {string} text
 */
export function lengthOf(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * Return how long a text is, in words.
 * @param {string} text
 * @param {number} most  How long it may be.
 * @returns {{over: boolean, message: string}}
 */
export function sizeOf(text, most) {
  const count = lengthOf(text);
  const [has, may, beyond] = [count, most, count - most].map((n) => n.toLocaleString("en"));
  const message = `${has} of ${may} characters`;
  const over = count > most;
  return { over, message: over ? `${message}: ${beyond} too many; send it in parts` : message };
}

/**
 * Return the text of a file; raises Trouble for one that is no UTF-8, or far too long.
 * @param {File} file
 * @param {number} most  Characters.
 */
export async function textOf(file, most) {
  if (file.size > 4 * most) {
    const [has, may] = [file.size, most].map((n) => n.toLocaleString("en"));
    throw new Trouble(`${file.name}: ${has} bytes; expected up to ${may} characters.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch (error) {
    throw new Trouble(`${file.name}: expected a text in UTF-8.`, { cause: error });
  }
}

/**
 * Have a file that is dropped on a form, or chosen by its input, read.
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} input
 * @param {(file: File) => void} take
 */
export function listenForFiles(form, input, take) {
  const dropping = (is) => form.classList.toggle("dropping", is);
  form.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    dropping(true);
  });
  form.addEventListener("dragleave", () => dropping(false));
  form.addEventListener("drop", (event) => {
    dropping(false);
    const [file] = event.dataTransfer.files;
    if (!file) return; // dropped words go where they are dropped
    event.preventDefault();
    take(file);
  });
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) take(file);
    input.value = ""; // so that the same file can be opened again
  });
}
