/** The native format at a base address, with a key. Rules: doors.md "Kinds". */

import { type Access, keyFields } from '../native-request.ts'
import type { UpstreamRequest } from '../upstream.ts'
import type { Door } from './door.ts'

export const nativeDoor = (access: Access): Door => ({
  target: ({ path, query }: UpstreamRequest) => `${path}${query}`,
  fields: { ...access.headers, ...keyFields(access) },
})
