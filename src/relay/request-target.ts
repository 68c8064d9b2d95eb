/**
 * The path of a request's URL as it was sent, and the part of its query that goes to the upstream. Both are found by hand: Bun lets hosts through that no URL may have
 * (`Host: a]b`), and `new URL` throws on those. Rules: messages.md "Pass-through"; platform.md "Bun's server".
 */

/** Still percent-encoded, without query. */
export function pathOf(url: string): string {
  const [target = ''] = url.split(/[?#]/, 1)
  return target.slice(target.indexOf('/', target.indexOf('://') + '://'.length))
}

/** The one parameter that the native API has, `?beta=true`, or ''. The client's other parameters are dropped. */
export function nativeQueryOf(url: string): string {
  const start = url.indexOf('?')
  if (start === -1) return ''
  const [query = ''] = url.slice(start + 1).split('#', 1)
  return query.split('&').includes('beta=true') ? '?beta=true' : ''
}
