/** What relays and the ledger process say to each other over the socket, as data. Rules: processes.md "Relays". */

import type { NodeMessage } from '../nodes.ts'
import type { Committed, RelayRuns, TasksMessage } from '../task.ts'
import type { Held, Question, Reply, Word } from './shared-state.ts'

/** Both sides are the same program, but for a moment while it is replaced. */
export const PROTOCOL = 1

/** `isNew`: it was no relay before. `held`: what it has of what relays share, beside the money. */
export type Hello = Readonly<{ kind: 'hello'; protocol: number; bootId: string; isNew: boolean; runs: RelayRuns; held: Held }>

export type ToHub =
  | Hello
  | TasksMessage
  /** It lives. Its number comes back. */
  | Readonly<{ kind: 'ping'; number: number }>
  | Readonly<{ kind: 'question'; number: number; question: Question }>
  | Readonly<{ kind: 'word'; word: Word }>
  /** It ends, and has asked all. */
  | Readonly<{ kind: 'leave' }>

export type FromHub =
  | Readonly<{ kind: 'welcome'; boot: number }>
  /** It is a relay no more: others may have what it held. */
  | Readonly<{ kind: 'fenced'; reason: string }>
  /** All relays that live have said what they hold: it may admit. */
  | Readonly<{ kind: 'ready' }>
  | Committed
  | Readonly<{ kind: 'news'; messages: readonly NodeMessage[] }>
  | Readonly<{ kind: 'state'; isWritable: boolean; isSound: boolean; spillBytes: number; replayed: readonly string[] }>
  | Readonly<{ kind: 'pong'; number: number }>
  | Readonly<{ kind: 'reply'; number: number; reply: Reply }>
  /** Behind the answers to all that it had asked. */
  | Readonly<{ kind: 'left' }>
