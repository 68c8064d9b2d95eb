/** The name that a client gives a request, so that spend can be told apart by it. Rules: requests.md "Tags". */

import { isObject } from './json.ts'
import { invalid, type Refusal } from './refusal.ts'

export const TAG_HEADER = 'x-spend-tag'
export const TAG_PATTERN = '^[A-Za-z0-9._:/-]{1,64}$'
const TAG = new RegExp(TAG_PATTERN)

const isTag = (text: string): boolean => TAG.test(text)

/** `json`: the body, where the account wants the ids of its end users to be tags; undefined: only the header counts. */
export function tagOf(
  headers: { get(name: string): string | null },
  json: Readonly<Record<string, unknown>> | undefined,
): string | Refusal | undefined {
  const header = headers.get(TAG_HEADER)
  if (header !== null)
    return isTag(header) ? header : invalid(TAG_HEADER, 'Input should be 1 to 64 letters, digits, ".", "_", ":", "/" and "-"')
  if (json === undefined) return undefined
  const { metadata, user } = json
  const id = isObject(metadata) && metadata['user_id'] !== undefined ? metadata['user_id'] : user
  // An id of another form is right for the upstream: it makes no tag, and no error.
  return typeof id === 'string' && isTag(id) ? id : undefined
}
