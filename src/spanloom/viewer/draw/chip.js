/** Buttons that are pressed or not. */

import { html } from "./dom.js";
import { visible } from "./text.js";

/**
 * Return a button that is pressed or not.
 * @param {Document} page
 * @param {string} name
 * @param {() => void} toggled
 * @param {{kind?: string, pressed?: boolean, note?: string, title?: string}} how
 */
export function chip(page, name, toggled, { kind = "", pressed = true, note = "", title } = {}) {
  const state = { type: "button", "aria-pressed": String(pressed), title: title ?? null };
  const small = note ? [" ", html(page, "small", {}, note)] : [];
  const button = html(
    page,
    "button",
    { class: `chip ${kind}`.trim(), ...state },
    visible(name),
    ...small,
  );
  button.addEventListener("click", () => {
    const before = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!before));
    toggled();
  });
  return button;
}
