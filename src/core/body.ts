/** A client's request body, read once: the bytes as they came, and what they parse to. */

import type { Member } from './json-scan.ts'

export type Body = Readonly<{
  bytes: Uint8Array
  json: Readonly<Record<string, unknown>>
  /** Where each top-level member's value stands in `bytes`, in order of appearance; a repeated name has several spans. */
  members: readonly Member[]
}>
