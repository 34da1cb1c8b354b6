/** How wide text is, in the fonts that it is drawn in. All widths are pixels. */

export const PADDING = 4; // between a caption and the edge of its box

/**
 * @typedef {object} Fonts
 * @property {(text: string) => number} text     The width of words.
 * @property {(text: string) => number} caption  The width of captions, without padding.
 */

/**
 * Return the fonts of an element: its custom properties --text-font and --caption-font.
 * @param {Element} host
 * @returns {Fonts}
 */
export function fontsOf(host) {
  const style = host.ownerDocument.defaultView.getComputedStyle(host);
  const ruler = (name) => rulerOf(host.ownerDocument, style.getPropertyValue(name).trim());
  return { text: ruler("--text-font"), caption: ruler("--caption-font") };
}

function rulerOf(page, font) {
  const context = page.createElement("canvas").getContext("2d");
  context.font = font;
  const widths = new Map();
  return (text) => {
    let width = widths.get(text);
    if (width === undefined) {
      width = context.measureText(text).width;
      widths.set(text, width);
    }
    return width;
  };
}

/**
 * Return the width of a caption with its padding, 0 for none.
 * @param {string} caption
 * @param {Fonts} fonts
 */
export function captionWidth(caption, fonts) {
  return caption ? fonts.caption(caption) + 2 * PADDING : 0;
}

/**
 * Whether two extents share more than a border, or are nearer than `room`.
 * @param {[number, number]} one
 * @param {[number, number]} other
 */
export function overlap(one, other, room = 0) {
  return one[0] < other[1] + room && other[0] < one[1] + room;
}
