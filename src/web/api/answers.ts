/** What the pages' own endpoints answer: a document, or an error in words for the person who looks at the page. Rules: pages.md "Errors". */

import { Elysia, type ValidationError } from 'elysia'

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** `field`: the input of the form that is wrong. */
export const refuse = (status: number, message: string, { field, retryAfterS }: { field?: string; retryAfterS?: number } = {}): Response =>
  Response.json(
    { error: field === undefined ? { message } : { message, field } },
    { status, headers: retryAfterS === undefined ? HEADERS : { ...HEADERS, 'retry-after': String(retryAfterS) } },
  )

/** The answer for a thing that does not exist, and for one of an account that is not the person's. */
export const missing = (): Response => refuse(404, 'There is nothing at this address')

export const wrongEmail = (): Response => refuse(400, 'This is no e-mail address', { field: 'email' })

export function tooManyAttempts(waitMs: number): Response {
  const seconds = Math.ceil(waitMs / 1_000)
  return refuse(429, `Too many attempts. Try again in ${seconds} s`, { retryAfterS: seconds })
}

/** The answer to a sign-in that finds no room to wait: only a few passwords are checked at a time. */
export const tooBusy = (): Response => refuse(503, 'Too many people sign in at this moment. Try again', { retryAfterS: 1 })

/** Makes such answers where Elysia itself refuses: for a body of the wrong shape or an unknown path. Bugs are thrown on. */
export const apiErrors = () =>
  new Elysia({ name: 'api errors' }).onError({ as: 'global' }, ({ code, error }) => {
    switch (code) {
      case 'VALIDATION':
        return refuseShape(error)
      case 'PARSE':
        return refuse(400, 'The request is not JSON')
      case 'NOT_FOUND':
        return missing()
      default:
        throw error
    }
  })

/** Answers with the description in the route's schema, which is a sentence for the person. */
function refuseShape({ valueError }: Readonly<Pick<ValidationError, 'valueError'>>): Response {
  const field = valueError?.path.slice(1).replaceAll('/', '.') ?? ''
  const message = valueError?.schema.description ?? 'This is not as expected'
  return field === '' ? refuse(400, message) : refuse(400, message, { field })
}
