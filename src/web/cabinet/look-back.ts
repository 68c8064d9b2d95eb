/** Walks through a list with a rare filter, whose pages each look at some rows and may be empty, to the first page that has rows. Rules: pages.md "Requests of an account". */

type Page = Readonly<{ data: readonly unknown[]; next_cursor: string | null }>

/** The most looks of one walk; after them the reader decides whether to go on. */
export const LOOKS_MAX = 10

/** The first answer that is a failure, has rows or is the last page; otherwise the answer of the last look. `mayGoOn` is asked before each further look. */
export async function lookBack<Reply extends Readonly<{ data: Page | Response | null }>>(
  look: (after: string | undefined) => PromiseLike<Reply>,
  from: string | undefined,
  mayGoOn: () => boolean,
): Promise<Reply> {
  let answer = await look(from)
  for (let looks = 1; looks < LOOKS_MAX; looks++) {
    const { data } = answer
    if (data === null || !('next_cursor' in data) || data.data.length > 0 || data.next_cursor === null || !mayGoOn()) return answer
    answer = await look(data.next_cursor)
  }
  return answer
}
