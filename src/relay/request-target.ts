/**
 * The path and the query of a request's URL, as they were sent. Found by hand: Bun lets hosts through that no URL may have (`Host: a]b`), and `new URL` throws on
 * those. Rules: messages.md "Pass-through"; platform.md "Bun's server".
 */

/** Still percent-encoded, without query. */
export function pathOf(url: string): string {
  const [target = ''] = url.split(/[?#]/, 1)
  return target.slice(target.indexOf('/', target.indexOf('://') + '://'.length))
}

/** With its `?`, or ''. It is part of the native API (`?beta=true`). */
export function queryOf(url: string): string {
  const [target = ''] = url.split('#', 1)
  const start = target.indexOf('?')
  return start === -1 || start === target.length - 1 ? '' : target.slice(start)
}
