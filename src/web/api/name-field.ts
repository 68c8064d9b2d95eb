/** The name of a key, an account or a batch as people type it, checked. Rules: operator.md "Keys and accounts"; pages.md "Errors". */

import { t } from 'elysia'
import { problemOfName } from '../../core/names.ts'
import { refuse } from './answers.ts'

export const NAME = t.String({ maxLength: 500, description: 'A name of 1 to 128 characters' })

export const wrongName = (name: string): Response | undefined => {
  const problem = problemOfName(name)
  return problem === undefined ? undefined : refuse(400, problem, { field: 'name' })
}
