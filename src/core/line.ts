/** One line that an operator types beside an act: a reason, a payment's reference. The command line and the pages have the same rule. Rules: operator.md "Credits", "Audit". */

export const LINE_CHARS_MAX = 200

/** The text without the spaces around it; undefined where it is empty, too long or cannot be printed. */
export function lineOf(text: string): string | undefined {
  const line = text.trim()
  return line === '' || line.length > LINE_CHARS_MAX || /\p{C}/u.test(line) ? undefined : line
}
