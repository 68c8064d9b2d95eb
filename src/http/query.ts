/** A query that its route's schema does not take, as the contract's 400 that names the field. Rules: contract.md "Errors". */

import type { ValidationError } from 'elysia'
import { invalid, type Refusal } from '../core/refusal.ts'

/** Elysia's finding, without what it says of the value: a message of ours quotes nothing that a client sent. */
export function invalidQuery({ valueError }: Readonly<Pick<ValidationError, 'valueError'>>): Refusal {
  const path = valueError?.path.slice(1).replaceAll('/', '.')
  const expected = valueError?.schema.description
  return invalid(
    path === undefined || path === '' ? 'query' : path,
    expected === undefined ? 'Input is not allowed' : `Input should be ${expected}`,
  )
}
