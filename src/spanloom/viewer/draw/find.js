/** Where a string stands in a text, whatever the case of its letters. */

/**
 * Return the places [start, end) of a string among the characters of a text, none overlapping.
 * @param {string[]} points  The characters of the text.
 * @param {string} wanted
 * @returns {[number, number][]}
 */
export function placesOf(points, wanted) {
  const needle = Array.from(wanted, folded);
  if (!needle.length) return [];
  const haystack = points.map(folded);
  const [text, found] = [haystack.join(""), needle.join("")];
  const plain = text.length === points.length;
  const starts = plain ? null : startsOf(haystack);
  const places = [];
  for (let at = text.indexOf(found); at >= 0; at = text.indexOf(found, at + found.length)) {
    const start = plain ? at : starts.get(at);
    if (start !== undefined) places.push([start, start + needle.length]);
  }
  return places;
}

/** Return a character in lower case; one that would become several stays as it is. */
function folded(point) {
  const lower = point.toLowerCase();
  return Array.from(lower).length === 1 ? lower : point;
}

/** Return the place of the character that begins at each place of the string. */
function startsOf(points) {
  const starts = new Map();
  let at = 0;
  points.forEach((point, number) => {
    starts.set(at, number);
    at += point.length;
  });
  return starts;
}
