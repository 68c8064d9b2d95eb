/** What relays and the ledger process say to each other over the socket, as data. Rules: processes.md "Relays". */

import type { RelayRuns } from '../lease-move.ts'
import type { NodeMessage } from '../nodes.ts'
import type { TasksMessage } from '../task.ts'
import type { Committed, RelayJoined } from '../thread-messages.ts'
import type { Followed } from './follow-routes.ts'
import type { SentTold } from './sent-bytes.ts'
import type { Held, Question, Reply, Word } from './shared-state.ts'

/** The version of the messages. Both sides are the same program, except for a moment while it is replaced. */
export const PROTOCOL = 4

/** `isNew`: the process was no relay before. `held`: what the relay has of the things that relays share, apart from the money. */
export type Hello = Readonly<{ kind: 'hello'; protocol: number; bootId: string; isNew: boolean; runs: RelayRuns; held: Held }>

export type ToHub =
  | Hello
  | TasksMessage
  /** The relay lives; the answer has the same number. */
  | Readonly<{ kind: 'ping'; number: number }>
  | Readonly<{ kind: 'question'; number: number; question: Question }>
  | Readonly<{ kind: 'word'; word: Word }>
  /** The relay ends, and has sent all its tasks. */
  | Readonly<{ kind: 'leave' }>

export type Welcome = Readonly<{ kind: 'welcome' }> & RelayJoined

export type FromHub =
  | Welcome
  /** The process is not a relay any more: others may have what it held. */
  | Readonly<{ kind: 'fenced'; reason: string }>
  /** All living relays have said what they hold, so the relay may admit. */
  | Readonly<{ kind: 'ready' }>
  | Committed
  | Readonly<{ kind: 'news'; messages: readonly NodeMessage[] }>
  | Readonly<{ kind: 'state'; isWritable: boolean; isSound: boolean; spillBytes: number; replayed: readonly string[] }>
  | Readonly<{ kind: 'pong'; number: number }>
  | Readonly<{ kind: 'reply'; number: number; reply: Reply }>
  | Followed
  | SentTold
  /** The relay has left; sent after the answers to all its tasks. */
  | Readonly<{ kind: 'left' }>
