/** The questions to the thread of the history, and its replies, as data that crosses threads. Rules: pages.md "History". */

import type { HistoryAsked, HistoryFound, TrafficRead } from '../core/history/kept.ts'
import type { MomentRows, Writer } from '../core/history/moment.ts'
import type { TrafficAsked } from '../core/history/traffic.ts'

/** `number`: the reply has the same. */
export type ToHistoryThread =
  | Readonly<{ kind: 'open'; path: string }>
  | Readonly<{ kind: 'write'; number: number; writer: Writer; moments: readonly MomentRows[]; isWhole: boolean }>
  | Readonly<{ kind: 'read'; number: number; asked: HistoryAsked }>
  | Readonly<{ kind: 'traffic'; number: number; asked: TrafficAsked }>

/** setAside: the file was of no use, and another was begun under its name. */
export type FromHistoryThread =
  | Readonly<{ kind: 'written'; number: number }>
  | Readonly<{ kind: 'found'; number: number; found: HistoryFound }>
  | Readonly<{ kind: 'traffic'; number: number; read: TrafficRead }>
  | Readonly<{ kind: 'failed'; number: number; problem: string }>
  | Readonly<{ kind: 'setAside'; problem: string; files: readonly string[] }>
