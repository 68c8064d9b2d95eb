/** The questions to the thread of kept answers, and its replies, as data that crosses threads. Rules: requests.md "Kept answers". */

import type { Forgotten } from '../core/format.ts'
import type { SealingKey } from './sealing.ts'

/** What is said of an answer before its bytes. `id`, and those of `items`: the ids by which the answer is found with this key. The caller keeps the kinds of ids apart. */
export type Keeping = Readonly<{
  key: SealingKey
  accountId: string
  id: string
  items: readonly string[]
  /** Unix milliseconds. */
  expiresAt: number
}>

/** The bytes of an answer come after its `keep`, in order, and before the next `keep`. They are handed over. */
export type ToAnswersThread =
  | Readonly<{ kind: 'open'; path: string; bytesMax: number }>
  | Readonly<{ kind: 'keep'; keeping: Keeping }>
  | Readonly<{ kind: 'bytes'; bytes: Uint8Array; isLast: boolean }>
  | Readonly<{ kind: 'find'; number: number; key: SealingKey; ids: readonly string[] }>
  | Readonly<{ kind: 'close' }>

/**
 * kept: the thread has finished the oldest answer, whether it is on disk or not. found: the answer's bytes as they were kept, handed over, or why there are none.
 * setAside: the file was of no use, and another was begun. failed: an answer was not kept or not found because of `problem`; the thread goes on.
 */
export type FromAnswersThread =
  | Readonly<{ kind: 'kept' }>
  | Readonly<{ kind: 'found'; number: number; found: Uint8Array | Forgotten }>
  | Readonly<{ kind: 'setAside'; problem: string; files: readonly string[] }>
  | Readonly<{ kind: 'failed'; problem: string }>
  | Readonly<{ kind: 'closed' }>
