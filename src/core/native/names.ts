/** Names of tools and ids of calls, for which native has one rule. Rules: native.md "What native refuses"; translation.md "Call ids". */

export const NAME = /^[A-Za-z0-9_-]{1,128}$/
export const NAME_LENGTH_MAX = 128

const REFUSED = /[^A-Za-z0-9_-]/
const EACH_REFUSED = /[^A-Za-z0-9_-]/g

/** The name itself where native accepts it; else it is cut to length, and `_` replaces each character that native refuses. */
export function cleanName(name: string): string {
  const short = name.length > NAME_LENGTH_MAX ? name.slice(0, NAME_LENGTH_MAX) : name
  return REFUSED.test(short) ? short.replace(EACH_REFUSED, '_') : short
}
