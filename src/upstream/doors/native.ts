/** The native format at a base address, with a key. Rules: doors.md "Kinds". */

import { type Access, keyFields } from '../native-request.ts'
import type { UpstreamRequest } from '../upstream.ts'
import type { Door } from './door.ts'

/** `more`: fields that this kind demands of every call. */
export const nativeDoor = (access: Access, more: Readonly<Record<string, string>> = {}): Door => ({
  target: ({ path, query }: UpstreamRequest) => `${path}${query}`,
  fields: { ...more, ...access.headers, ...keyFields(access) },
})
