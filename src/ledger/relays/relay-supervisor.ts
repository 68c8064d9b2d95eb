/** Supervises what a relay has beside its link: how long it waits for a ledger process that says nothing, and whether it may admit. Rules: processes.md "Death". */

import type { Patience } from '../admission/patience.ts'
import type { StoreSupervisor } from '../admission/store-supervisor.ts'
import type { RelayLink } from './link.ts'
import type { RelaySpill } from './relay-spill.ts'

export class RelaySupervisor implements StoreSupervisor {
  readonly #link: RelayLink
  readonly #patience: Patience
  readonly #spill: Pick<RelaySpill, 'close'>

  constructor(link: RelayLink, patience: Patience, spill: Pick<RelaySpill, 'close'>) {
    this.#link = link
    this.#patience = patience
    this.#spill = spill
  }

  onLeftOpen(): void {}

  onWalCheckpointDue(): void {}

  onCommitted(): void {}

  mayAdmit(): boolean {
    return this.#link.mayAdmit()
  }

  isSound(): boolean {
    return this.#link.isSound()
  }

  whileHeard<T>(working: Promise<T>, onLate?: (late: T) => void): Promise<T | 'unavailable'> {
    return this.#patience.whileHeard(working, onLate)
  }

  rescueHint(): string {
    return 'no new requests'
  }

  stop(): void {
    this.#link.stop()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  onClosed(): void {
    this.#link.close()
    this.#spill.close()
  }
}
