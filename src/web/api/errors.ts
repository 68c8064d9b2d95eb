/** What a page's endpoint answers when Elysia refuses by itself: a body of the wrong shape, an unknown path. Bugs go up. Rules: pages.md "Errors". */

import { Elysia, type ValidationError } from 'elysia'
import { missing, refuse } from './answers.ts'

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

/** The description in the route's schema is the sentence for the person. */
function refuseShape({ valueError }: Readonly<Pick<ValidationError, 'valueError'>>): Response {
  const field = valueError?.path.slice(1).replaceAll('/', '.') ?? ''
  const message = valueError?.schema.description ?? 'This is not as expected'
  return field === '' ? refuse(400, message) : refuse(400, message, { field })
}
