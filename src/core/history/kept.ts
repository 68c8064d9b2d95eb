/** How long the history is kept, and what is asked of it. Rules: pages.md "History". */

import type { AccountCount, HistoryBy, HistoryLine, HistorySpan } from './series.ts'
import type { TrafficFound } from './traffic.ts'

const HOUR_S = 3_600
/** Minutes for two days, hours for 400. */
const KEPT_S = { 60: 48 * HOUR_S, 3600: 400 * 24 * HOUR_S } as const

/** Moments that began before these are deleted. `now`: Unix milliseconds. */
export const keptSince = (now: number): Readonly<{ minutes: number; hours: number }> => {
  const second = Math.floor(now / 1_000)
  return { minutes: second - KEPT_S[60], hours: second - KEPT_S[3600] }
}

export type HistoryAsked = Readonly<{ span: HistorySpan; by: HistoryBy }>

/** A process that has begun or ended. `lostAfter`: the Unix second after which its requests may be missing, since it ended without a word; null: none are. */
export type WriterSeen = Readonly<{ writer: string; beganAt: number; lostAfter: number | null }>

export type HistoryFound = Readonly<{
  all: HistoryLine
  lines: readonly HistoryLine[]
  accounts: readonly AccountCount[]
  /** The accounts of the span of the same length before. */
  accountsBefore: readonly AccountCount[]
  writers: readonly WriterSeen[]
}>

/** tooMuch: more rows than an answer has. `writers`: those of the span. */
export type TrafficRead = Readonly<{ found: TrafficFound | 'tooMuch'; writers: readonly WriterSeen[] }>

/** A writer that has not written for so long is gone: one that runs writes or says that it lives twice in this time. */
export const WRITER_GONE_S = 90

/** What `writers` rows say at `now`, in Unix seconds. */
export const writerSeen = (
  row: Readonly<{ writer: string; began_at: number; seen_at: number; is_whole: number }>,
  now: number,
): WriterSeen => ({
  writer: row.writer,
  beganAt: row.began_at,
  lostAfter: row.is_whole === 0 && now - row.seen_at > WRITER_GONE_S ? row.seen_at : null,
})
