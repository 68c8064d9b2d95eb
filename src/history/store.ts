/** Where the history is kept: a file beside the ledger, or tables of a shared ledger's database. Rules: pages.md "History". */

import type { HistoryAsked, HistoryFound, TrafficRead } from '../core/history/kept.ts'
import type { MomentRows, Writer } from '../core/history/moment.ts'
import type { TrafficAsked } from '../core/history/traffic.ts'

export type HistoryStore = Readonly<{
  /** Writes the moments, and that the writer lives. `isWhole`: the writer ends, and has nothing left. False: it could not be written now, which is said elsewhere. */
  write(writer: Writer, moments: readonly MomentRows[], isWhole: boolean): Promise<boolean>
  /** Undefined: it cannot be read now. */
  read(asked: HistoryAsked): Promise<HistoryFound | undefined>
  /** Refusals and first bytes by whole hours. Undefined: it cannot be read now. */
  traffic(asked: TrafficAsked): Promise<TrafficRead | undefined>
  close(): void
}>

/** `problem`: why, in words for an operator. `files`: the new names of a file that was of no use. */
export type HistoryEvent =
  | Readonly<{ kind: 'failed'; problem: string }>
  | Readonly<{ kind: 'setAside'; problem: string; files: readonly string[] }>
