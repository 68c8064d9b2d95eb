/** A prepaid code as it looks while somebody types it: `TG-` and groups of five. What is sent is read by the gateway in any form. Rules: pages.md "Codes". */

const PREFIX = 'TG'
const GROUP = /.{1,5}/g

/** `before`: what stood there. Only what grows at its end is grouped: whoever mends the middle keeps the caret there. */
export function groupCode(before: string, typed: string): string {
  if (typed.length <= before.length || !typed.startsWith(before)) return typed
  const letters = typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
  if (PREFIX.startsWith(letters)) return letters
  const code = letters.startsWith(PREFIX) ? letters.slice(PREFIX.length) : letters
  return [PREFIX, ...(code.match(GROUP) ?? [])].join('-')
}
