/**
 * The spills of relays, as the thread that writes the ledger sees them. The spill of a relay that may live is only read, over and over if need be, since every write is once by its
 * id; that of a relay that is gone is taken away first, so that a relay that only stood still keeps nothing more in it. Rules: processes.md "Death"; ledger.md "Spill".
 */

import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { LedgerFault } from '../thread-messages.ts'
import { spillPathOf } from './spill.ts'
import { SpillFile } from './spill-file.ts'
import { readFrame } from './spill-records.ts'
import type { NotApplied, Store } from './store.ts'

export const relaySpillPathOf = (ledgerPath: string, bootId: string): string => spillPathOf(`${ledgerPath}.${bootId}`)

/** A boot's id is a UUID, which the number of a spill on Postgres is not. */
const OF_RELAY = /^\.[0-9a-z]+-[0-9a-z-]+\.spill(?:\.taken)?$/

/** What comes after the ledger's path in the names of its relays' spills. */
export function relaySpillsAt(ledgerPath: string): readonly string[] {
  const name = basename(ledgerPath)
  const beside = readdirSync(dirname(ledgerPath)).filter((other) => other.startsWith(name))
  return beside.map((other) => other.slice(name.length)).filter((ending) => OF_RELAY.test(ending))
}

/** The ending of a spill that was taken away from its relay, and is not replayed yet. */
const TAKEN = '.taken'

/** `replayed`: ids of the requests that have their receipts now. */
export type ReadSpill = Readonly<{ frames: number; replayed: readonly string[] }>

const NOTHING: ReadSpill = { frames: 0, replayed: [] }

export class RelaySpills {
  readonly #ledgerPath: string
  readonly #store: Pick<Store, 'id' | 'replay'>
  readonly #onFault: (fault: LedgerFault) => void

  constructor(ledgerPath: string, store: Pick<Store, 'id' | 'replay'>, onFault: (fault: LedgerFault) => void) {
    this.#ledgerPath = ledgerPath
    this.#store = store
    this.#onFault = onFault
  }

  /** Writes into the ledger what this relay has kept. */
  read(bootId: string): ReadSpill | NotApplied {
    return this.#replay(relaySpillPathOf(this.#ledgerPath, bootId))
  }

  /** Writes what all relays have kept. The spills stay where they are, since their relays may live. */
  readAll(): NotApplied | undefined {
    for (const path of this.#paths()) {
      const read = this.#replay(path)
      if ('kind' in read) return read
    }
    return undefined
  }

  /** Takes away the spills of all relays but those that live, and writes what they have kept. */
  takeAway(lives: (bootId: string) => boolean): NotApplied | undefined {
    for (const path of this.#paths()) {
      if (!path.endsWith(TAKEN) && lives(this.#bootIdIn(path))) continue
      const problem = this.#take(path)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /**
   * What `takeOver` does last. `keepsInFlight`: relays live whose requests an earlier run had in flight, so what they have kept is written and nothing is waived; otherwise
   * no relay lives, and each request that none has kept is waived.
   */
  recovery(store: Pick<Store, 'recover'>, keepsInFlight: boolean): Pick<Store, 'recover'> {
    if (keepsInFlight) return { recover: () => this.readAll() ?? 0 }
    return { recover: (now, onStep) => this.takeAway(() => false) ?? store.recover(now, onStep) }
  }

  #take(path: string): NotApplied | undefined {
    if (this.#isForeign(path)) return undefined
    const taken = path.endsWith(TAKEN) ? path : `${path}${TAKEN}`
    if (taken !== path) renameSync(path, taken)
    const read = this.#replay(taken)
    if ('kind' in read) return read
    rmSync(taken, { force: true })
    return undefined
  }

  #replay(path: string): ReadSpill | NotApplied {
    const file = SpillFile.open(path, this.#store.id, false)
    if (!(file instanceof SpillFile)) return NOTHING
    try {
      const { frames } = file
      if (frames.length === 0) return NOTHING
      const replayed = this.#store.replay(frames.map(readFrame))
      if (replayed.kind === 'failed') return replayed
      for (const fault of replayed.faults) this.#onFault(fault)
      return { frames: frames.length, replayed: replayed.settled }
    } finally {
      file.close()
    }
  }

  /** A spill of another ledger stays as it is, for the operator to look at. */
  #isForeign(path: string): boolean {
    const file = SpillFile.open(path, this.#store.id, false)
    if (file instanceof SpillFile) file.close()
    else if (file === 'foreign') this.#onFault({ problem: `${path} holds charges of another ledger: it is left as it is` })
    return file === 'foreign'
  }

  #paths(): readonly string[] {
    return relaySpillsAt(this.#ledgerPath).map((ending) => `${this.#ledgerPath}${ending}`)
  }

  #bootIdIn(path: string): string {
    return basename(path).slice(basename(this.#ledgerPath).length + 1, -'.spill'.length)
  }
}
