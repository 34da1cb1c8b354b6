/** What goes wrong and is told to the reader in plain words: nothing else is caught. */

export class Trouble extends Error {
  /**
   * @param {string} message
   * @param {{cause?: Error, passing?: boolean}} how  Whether it may help to try again.
   */
  constructor(message, { cause, passing = false } = {}) {
    super(message, { cause });
    this.passing = passing;
  }
}
