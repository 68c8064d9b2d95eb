/** Makes text safe to print on a terminal: a repeated argument moves no cursor and sets no colour. Rules: operator.md "Commands". */

/** Controls but line feed and tab, other ends of lines, and what turns the direction of writing. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Writes them as `\u001b`, which in a JSON document is the same letter. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
