/** A prepaid code while it is typed: `TG-` and groups of five, such as `TG-ABCDE-FGHIJ`. The gateway reads any grouping. Rules: pages.md "Codes". */

const PREFIX = 'TG'
const GROUP = /.{1,5}/g

/** `before`: the text before the change. Only text that grows at its end is grouped: a correction in the middle keeps its caret. */
export function groupCode(before: string, typed: string): string {
  if (typed.length <= before.length || !typed.startsWith(before)) return typed
  const letters = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  if (PREFIX.startsWith(letters)) return letters
  const code = letters.startsWith(PREFIX) ? letters.slice(PREFIX.length) : letters
  return [PREFIX, ...(code.match(GROUP) ?? [])].join('-')
}
