/** What a simulated world stands on: the store that its threads open, with the ways in which that store can fail and end. */

import type { MakeSupervisor } from '../../src/ledger/admission/store-supervisor.ts'
import type { Difference } from '../../src/ledger/chain/difference.ts'
import type { WritablePlace } from '../../src/ledger/place.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import type { OpenProblem, ToThread } from '../../src/ledger/thread-messages.ts'
import type { Store } from '../../src/ledger/writing/store.ts'

/** none · full: no write more · broken: no write at all, and on Postgres no read · late: all is written but for the commit itself, or for its answer · lost: the connection is, in the midst · held: somebody keeps rows locked. */
export type Fault = 'none' | 'full' | 'broken' | 'late' | 'lost' | 'held'
/** `spill`: whether what is kept beside the store can be. */
export type Storage = Readonly<{ fault: Fault; spill: 'works' | 'fails' }>
export const SOUND: Storage = { fault: 'none', spill: 'works' }

export type Opening = Extract<ToThread, { kind: 'open' }>

/** A store as a simulated thread has it. */
export type GroundStore = Readonly<{
  store: Store
  /** Where it spills: what `spillPathOf` is given. */
  spillAt: string
  /** The storage has changed. */
  meet(): void
  /** Something is said now that must outlive the power; `opened`: that it is open. */
  noteFlush(what: 'opened' | 'promised'): void
  /** Of what is not yet in its place, the part that was flushed. */
  flushedBytes(): number
  /** The node that writes is another boot now. */
  rejoin(message: Extract<ToThread, { kind: 'node' }>): void
  die(): void
}>

export type HowEnded = 'crash' | 'power loss' | 'close'

/** `onIndeterminate`: to be called where a write was done whose answer is lost. `now`: the world's time. */
export type Around = Readonly<{ onIndeterminate: () => void; now: () => number }>

export interface Ground {
  readonly faults: readonly Fault[]
  readonly ends: readonly HowEnded[]
  readonly makeSupervisor: MakeSupervisor
  /** A process that is gone loses its lane, and what it had admitted is waived. */
  readonly isShared: boolean
  /** A process begins. */
  begin(): void
  /** Its end. `cutAt`: how much of what was not flushed is left. */
  end(how: HowEnded, cutAt: (flushedBytes: number, bytes: number) => number, flushedBytes: number | undefined): void
  place(): WritablePlace
  open(opening: Opening, fault: () => Fault): GroundStore | OpenProblem
  /** Looks at what a closed ledger leaves. Undefined: all is as it must be. */
  leftAfterClose(): string | undefined
  /** Another takes the lane over, because its lease is over. False: there is no such thing here, or it is fenced already. */
  fence(): boolean
  /** It is no node now: what is held all the same was asked before. */
  readonly isFenced: boolean
  /** What was fenced is a node again. */
  rejoin(): void
  read(): Connection
  differences(db: Connection): readonly Difference[]
  close(): void
}
