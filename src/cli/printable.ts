/** What a command says on a terminal: an argument that it repeats moves no cursor and colours nothing. Rules: operator.md "Commands". */

/** Controls but line feed and tab, other ends of lines, and what turns the direction of writing. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** With those as `\x1b` or `\u202e`. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (letter) => {
    const code = letter.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
  })
