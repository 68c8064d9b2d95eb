/**
 * A relay's own spill: ends of its requests while the ledger process is away. The relay alone writes it and empties it; the ledger process reads it whenever the relay joins, and
 * takes it away when the relay is gone, from which moment on nothing can be kept in it. Rules: processes.md "Death"; ledger.md "Spill".
 */

import type { PriceVersion } from '../columns/parts.ts'
import type { Task } from '../task.ts'
import type { LedgerFault } from '../thread-messages.ts'
import { SpillFile } from '../writing/spill-file.ts'
import { frameOf } from '../writing/spill-records.ts'

/** Room for the ends of some 2,000 requests, at some 500 bytes each, which a full disk would not give later. */
const ROOM_BYTES = 1024 * 1024

type Kept = Extract<Task, { kind: 'settle' | 'attempts' }>

/**
 * again: the ledger process has not read all that the relay has kept, so the relay joins again · gone: a ledger process has taken the spill away, because the relay counted as gone:
 * others may have what it holds, which the next ledger process does not know.
 */
export type Joining = 'in' | 'again' | 'gone'

/** What the ledger process says when the relay joins. `frames`: how many entries of the spill are in the ledger. */
type Joined = Readonly<{ boot: number; ledgerId: string; frames: number }>

export class RelaySpill {
  readonly #path: string
  readonly #onFault: (fault: LedgerFault) => void
  #file: SpillFile | undefined
  #boot = 0
  #isTold = false

  constructor(path: string, onFault: (fault: LedgerFault) => void) {
    this.#path = path
    this.#onFault = onFault
  }

  /** To be called when the ledger process lets the relay in. */
  join({ boot, ledgerId, frames }: Joined): Joining {
    this.#boot = boot
    if (this.#file === undefined) this.#open(ledgerId)
    const file = this.#file
    if (file === undefined) return 'in'
    if (!file.isAt(this.#path)) return 'gone'
    if (file.frames.length > frames) return 'again'
    if (file.frames.length > 0) file.clear()
    this.#isTold = false
    return 'in'
  }

  /** True: the tasks are on disk, where the ledger process finds them. */
  keep(tasks: readonly Kept[], versionAt: (index: number) => PriceVersion): boolean {
    const file = this.#file
    if (file?.isAt(this.#path) !== true || !file.append(frameOf(tasks, versionAt, this.#boot))) return false
    // The path is looked at once more after the flush: if the ledger process takes the file away after this, it reads these tasks.
    if (!file.isAt(this.#path)) return false
    if (!this.#isTold)
      this.#onFault({ problem: `the ledger process is away: ${this.#path} keeps the ends of requests until it is there again` })
    this.#isTold = true
    return true
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
  }

  #open(ledgerId: string): void {
    try {
      const file = SpillFile.open(this.#path, ledgerId, true)
      if (!(file instanceof SpillFile)) return
      this.#file = file
      file.reserve(ROOM_BYTES)
    } catch (error) {
      const reason = error instanceof Error ? error.message : ''
      this.#onFault({ problem: `there is no room for a relay's spill: while the ledger process is away, ends wait for it (${reason})` })
    }
  }
}
