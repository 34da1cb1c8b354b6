/**
 * Links that hold a text: `#text=` and its bytes in base64url, behind `d.` deflated, behind `u.` as
 * they are. What stands behind `#` stays in the browser.
 */

import { Trouble } from "./trouble.js";

const KEY = "#text=";
const DEFLATED = "d.";
const PLAIN = "u.";
const FORMAT = "deflate-raw";
const LONGEST = 30_000; // characters of a link, which programs pass on whole
const LARGEST = 8_000_000; // bytes of a text: a short link may unfold to any length
const HALF = /\p{Cs}/u;

/**
 * Return what stands behind an address so that it holds a text.
 * @param {string} text
 * @returns {Promise<string>}
 */
export async function linkOf(text) {
  if (HALF.test(text)) throw new Trouble("No link holds half a character, which the text has.");
  const bytes = new TextEncoder().encode(text);
  const small = "CompressionStream" in globalThis;
  const held = small ? await through(bytes, new CompressionStream(FORMAT)) : bytes;
  const link = `${KEY}${small ? DEFLATED : PLAIN}${base64url(held)}`;
  if (link.length > LONGEST) {
    const [has, may] = [link.length, LONGEST].map((n) => n.toLocaleString("en"));
    throw new Trouble(`The link would have ${has} characters; expected up to ${may}.`);
  }
  return link;
}

/**
 * Return the text that a link holds, null for one that holds none.
 * @param {string} hash
 * @returns {Promise<?string>}
 */
export async function textIn(hash) {
  if (!hash.startsWith(KEY)) return null;
  const [form, held] = [hash.slice(KEY.length, KEY.length + 2), hash.slice(KEY.length + 2)];
  try {
    const bytes = bytesIn(held);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      form === DEFLATED ? await through(bytes, new DecompressionStream(FORMAT)) : bytes,
    );
  } catch (error) {
    throw new Trouble("The link holds no whole text; a part of it may be lost.", { cause: error });
  }
}

async function through(bytes, transform) {
  const parts = [];
  let size = 0;
  for await (const part of chunks(new Blob([bytes]).stream().pipeThrough(transform))) {
    size += part.length;
    if (size > LARGEST) throw new RangeError(`expected up to ${LARGEST} bytes`);
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Yield what a stream brings; not every browser can loop over one. */
async function* chunks(stream) {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

function base64url(bytes) {
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function bytesIn(letters) {
  const usual = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(usual, (letter) => letter.charCodeAt(0));
}
