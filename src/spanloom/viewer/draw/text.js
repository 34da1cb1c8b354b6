/** How text is shown: signs of what is hidden, letters that stay together, direction. */

const SIGNS = new Map([
  ["\t", "⇥"],
  ["\n", "⏎"],
]); // in every font, as U+2400… are not
const PLAIN = /^[\x20-\x7e]*$/;
const HIDDEN = /^[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]$/u;
// Joiners shape their neighbours, Arabic number signs have a glyph, tags spell flags in an emoji.
const SHAPING = /^[\u200c\u200d\u0600-\u0605\u{e0020}-\u{e007f}]$/u;
const LETTER = /^\p{L}$/u;
const FROM_THE_RIGHT =
  /^[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]$/u;
const CLUSTERS = "Segmenter" in Intl ? new Intl.Segmenter() : null;

/**
 * Return what is shown of one character: itself, or a sign if it hides or reorders text.
 * @param {string} point
 */
export function signOf(point) {
  if (!HIDDEN.test(point) || SHAPING.test(point)) return point;
  const code = point.codePointAt(0).toString(16).toUpperCase().padStart(2, "0");
  return SIGNS.get(point) ?? `⟨${code}⟩`;
}

/**
 * Return the text with a sign for every character that hides or reorders text.
 * @param {string} text
 */
export function visible(text) {
  return PLAIN.test(text) ? text : Array.from(text, signOf).join("");
}

/**
 * Return the letters as readers count them: a base with its marks, an emoji with all its parts.
 * @param {string} text
 * @returns {string[]}
 */
export function letters(text) {
  return CLUSTERS ? Array.from(CLUSTERS.segment(text), (part) => part.segment) : Array.from(text);
}

/**
 * Return the text, or its first letters and an ellipsis if it has more than `most`.
 * @param {string} text
 * @param {number} most
 */
export function elide(text, most) {
  if (text.length <= most) return text;
  const all = letters(text.slice(0, 40 * most)); // no need to part a whole book
  return all.length <= most ? text : `${all.slice(0, most - 1).join("")}…`;
}

/**
 * Whether text runs from right to left, by its first letter; null if it has none.
 * @param {Iterable<string>} points
 * @returns {?boolean}
 */
export function isBackward(points) {
  for (const point of points) {
    if (LETTER.test(point)) return FROM_THE_RIGHT.test(point);
  }
  return null;
}
