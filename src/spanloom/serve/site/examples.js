/** Short English texts, each drawn with one click; the first is drawn when the page opens. */

export const LANGUAGE = "en";

/** @type {{name: string, text: string}[]} */
export const EXAMPLES = [
  {
    name: "A life",
    text: `Ada Lovelace met Charles Babbage in London in 1833. She was seventeen, and he showed her his new machine. Ten years later she wrote the first program for it.
Babbage never built the Analytical Engine, but her notes about it were read again in the twentieth century.`,
  },
  {
    name: "News",
    text: `The European Space Agency launched a new satellite from French Guiana on Tuesday. It will measure the height of the oceans for seven years.
Engineers in Darmstadt said that they received its first signal forty minutes after the launch. The agency expects the first data in May.`,
  },
  {
    name: "A review",
    text: `We stayed at the Grand Hotel in Vienna for three nights. The room was lovely and the staff helped us with our bags, but breakfast was cold and the coffee tasted burnt.
When we told the manager, she apologized and gave us a free dinner.`,
  },
  {
    name: "A protocol",
    text: `Add 250 µl of lysis buffer to the tube and mix it gently. Incubate the tube at 37 °C for ten minutes.
Spin the sample for two minutes at full speed, then remove the liquid with a pipette. Wash the pellet twice with cold ethanol.`,
  },
  {
    name: "A tale",
    text: `A fox saw some grapes that hung from a high branch. He jumped, but he could not reach them.
"They are sour anyway," he said as he walked away. An old crow, who had watched him from the tree, laughed.`,
  },
];
