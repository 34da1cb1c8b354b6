/** The switch between the light and the dark page. */

import { html } from "./dom.js";

/**
 * Return a switch between the light and the dark page.
 * @param {Document} page
 */
export function drawTheme(page) {
  const root = page.documentElement;
  const isDark = () => {
    const system = page.defaultView.matchMedia("(prefers-color-scheme: dark)").matches;
    return root.dataset.theme ? root.dataset.theme === "dark" : system;
  };
  const button = html(page, "button", { class: "theme", type: "button" });
  const tell = () => {
    button.textContent = isDark() ? "light" : "dark";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  tell();
  return button;
}
