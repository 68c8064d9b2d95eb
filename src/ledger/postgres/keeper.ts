/** What a node needs beside its thread: its lane, renewed for as long as the ledger is open, and left after the last write. Rules: nodes.md "Lanes and leases". */

import type { Keeper } from '../keeper.ts'
import type { LedgerNode } from './node.ts'

export class NodeKeeper implements Keeper {
  readonly #node: LedgerNode

  constructor(node: LedgerNode) {
    this.#node = node
  }

  onLeftOpen(): void {}

  mayAdmit(): boolean {
    return this.#node.mayAdmit()
  }

  noteCommit(): void {}

  isSound(): boolean {
    return true
  }

  rescueHint(): string {
    return 'no new requests'
  }

  stop(): void {}

  close(): Promise<void> {
    return Promise.resolve()
  }

  onClosed(): Promise<void> {
    return this.#node.leave()
  }
}
