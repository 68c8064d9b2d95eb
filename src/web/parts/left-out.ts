/** How many rows a list leaves out, in words. Rules: pages.md "Tables". */

import { showCount } from './show-time.ts'

/** `what`: the rows, such as "keys". */
export const leftOutWords = (count: number, what: string): Readonly<{ said: string; button: string }> =>
  count === 1
    ? { said: `1 disabled ${what.replace(/s$/, '')} not shown.`, button: 'Show it' }
    : { said: `${showCount(count)} disabled ${what} not shown.`, button: 'Show them' }
