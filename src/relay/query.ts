/** The query of a request, which is part of the native API (`?beta=true`). Rules: messages.md "Pass-through". */

/** With its `?`, or ''. Found by hand: Bun lets hosts through that no URL may have (`Host: a]b`), and `new URL` throws on those. */
export function queryOf(url: string): string {
  const [target = ''] = url.split('#', 1)
  const start = target.indexOf('?')
  return start === -1 || start === target.length - 1 ? '' : target.slice(start)
}
