/** Numbers with their nouns, and how many marks and links of a layer there are. */

/**
 * Return a number with its noun: "1 link", "2 links".
 * @param {number} count
 * @param {string} noun
 * @param {string} plural
 */
export function quantity(count, noun, plural = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** Return numbers, one a side, as they are shown. */
export function countText(counts) {
  return counts.map((count) => count.toLocaleString("en")).join(" / ");
}

/**
 * Return how many marks a layer has, or links where it has no mark of its own, one count a side.
 * @param {import("./view_model.js").Text[]} texts
 * @param {number} layer
 */
export function sizeOf(texts, layer) {
  const counts = ["marks", "links"].map((kind) =>
    (texts[0]?.sides ?? []).map((_, side) =>
      texts.reduce((sum, text) => sum + countIn(text.sides[side][kind], layer), 0),
    ),
  );
  return counts.find((numbers) => numbers.some(Boolean)) ?? counts[0];
}

function countIn(items, layer) {
  return items.filter((item) => item.layer === layer).length;
}
