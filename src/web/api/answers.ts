/** What the pages' own endpoints answer: a document, or an error in words for the person who looks at the page. Rules: pages.md "Errors". */

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** `field`: the input of the form that is wrong. */
export const refuse = (status: number, message: string, { field, retryAfterS }: { field?: string; retryAfterS?: number } = {}): Response =>
  Response.json(
    { error: field === undefined ? { message } : { message, field } },
    { status, headers: retryAfterS === undefined ? HEADERS : { ...HEADERS, 'retry-after': String(retryAfterS) } },
  )

/** Everything that is not of the person's accounts is this, like what does not exist. */
export const missing = (): Response => refuse(404, 'There is nothing at this address')
