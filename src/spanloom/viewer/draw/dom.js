/** Elements, made one by one: every text goes in as text, never as markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return an element of HTML with attributes and parts; null attributes are left out.
 * @param {Document} page
 * @param {string} name
 * @param {Object<string, ?string>} attributes
 * @param {(Node|string)[]} parts
 */
export function html(page, name, attributes = {}, ...parts) {
  return filledElement(page.createElement(name), attributes, parts);
}

/** Return an element of SVG, in the same way. */
export function svg(page, name, attributes = {}, ...parts) {
  return filledElement(page.createElementNS(SVG, name), attributes, parts);
}

function filledElement(element, attributes, parts) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...parts);
  return element;
}

/** Return a length with one digit behind the point, and none that is 0. */
export function px(value) {
  return String(Math.round(value * 10) / 10);
}
