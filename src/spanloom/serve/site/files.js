/** What a reader takes along: files as the server spells them, pictures as the page draws them. */

import { pictureOf, pixelsOf } from "./picture.js";
import { zip } from "./zip.js";

const LATER = 10_000; // milliseconds until a browser has begun to save

/**
 * @typedef {object} Source  Where files come from.
 * @property {(format: string) => Promise<object>} sent  The document as the server spells it.
 * @property {HTMLElement} host                          The drawing, with all its lines.
 *
 * @typedef {object} Kind
 * @property {string} name
 * @property {string} file
 * @property {string} type
 * @property {(source: Source) => Promise<BlobPart>} content
 */

/** @type {Kind[]} */
export const KINDS = [
  { name: "JSON", file: "text.jsonl", type: "application/json", content: jsonOf },
  { name: "CoNLL-U", file: "text.conllu", type: "text/plain", content: conlluOf },
  { name: "brat (.zip)", file: "text.zip", type: "application/zip", content: bratOf },
  { name: "SVG", file: "text.svg", type: "image/svg+xml", content: svgOf },
  { name: "PNG", file: "text.png", type: "image/png", content: pngOf },
];

/** Return the document as one line of JSON. */
export async function jsonOf({ sent }) {
  return `${JSON.stringify(await sent("json"))}\n`;
}

async function conlluOf({ sent }) {
  return (await sent("conllu")).conllu;
}

async function bratOf({ sent }) {
  const files = Object.entries(await sent("brat"));
  return zip(Object.fromEntries(files.map(([suffix, text]) => [`text.${suffix}`, text])));
}

async function svgOf({ host }) {
  return pictureOf(host).source;
}

async function pngOf({ host }) {
  return pixelsOf(host.ownerDocument, pictureOf(host));
}

/**
 * Have the browser save a file.
 * @param {Document} page
 * @param {Kind} kind
 * @param {BlobPart} content
 */
export function save(page, { file, type }, content) {
  const link = page.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = file;
  link.click();
  page.defaultView.setTimeout(() => URL.revokeObjectURL(link.href), LATER);
}
