/** Debits as the gateway makes them, held and settled in the machine's memory, and the ledger's state machine on a file of its own that writes them. */

import { randomBytes } from 'node:crypto'
import { displayOf, makeSecret } from '../src/core/key.ts'
import type { Debit } from '../src/ledger/task.ts'
import {
  type Ask,
  createKey,
  holdRequest,
  type Machine,
  openMachine,
  operateTask,
  settlement,
  sha256,
  usd,
} from '../test/support/ledger.ts'

export const HOLD = usd('0.01')
export const USED = { input: 1_000, output: 200, cacheRead: 50 }
export const UPSTREAM = {
  name: 'main',
  model: 'vendor-model',
  messageId: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  requestId: 'req_011CSHoEeqs5C35K2UUqR7Fy',
}
const KEYS_A_GROUP = 512
const TIDIED_AT_ONCE = 4_096

export class DebitMachine {
  readonly #machine: Machine
  /** The secrets of the keys, in the order of the keys. */
  readonly secrets: string[] = []
  #requests = 0
  #told = 0

  constructor(path: string) {
    this.#machine = openMachine(path)
  }

  /** Adds keys, each with an account of its own and more money than it can use. */
  addKeys(count: number): void {
    for (let at = 0; at < count; at += KEYS_A_GROUP)
      this.#machine.askAll(...Array.from({ length: Math.min(KEYS_A_GROUP, count - at) }, () => this.#newKey()))
  }

  #newKey(): Ask {
    const secret = makeSecret(() => randomBytes(64))
    const operation = createKey(`key_${this.secrets.length}`, {
      secretHash: sha256(secret),
      display: displayOf(secret),
      balanceUsd: '1000000',
    })
    this.secrets.push(secret)
    return operateTask(operation)
  }

  /** Debits that are held and settled in memory, so that only the write is left; they use the first `keys` keys in turn. */
  ready(count: number, keys: number): readonly Debit[] {
    return Array.from({ length: count }, () => this.#debit(keys))
  }

  #debit(keys: number): Debit {
    const { wallets } = this.#machine
    const number = ++this.#requests
    // The ids rise, as the gateway's do.
    const requestId = `req_${String(number).padStart(32, '0')}`
    const keyId = `key_${number % keys}`
    if (!wallets.keys.has(keyId)) this.#machine.ask({ kind: 'hold', request: holdRequest(`first_${keyId}`, keyId, HOLD) })
    wallets.hold(holdRequest(requestId, keyId, HOLD), 0)
    const held = wallets.settle(settlement(requestId, USED, { upstream: UPSTREAM }))
    if (held === undefined) throw new Error('not held')
    wallets.settled(requestId)
    return held
  }

  /** Writes the debits in groups, each a transaction that is flushed; gives their number. */
  write(debits: readonly Debit[], group: number): number {
    const { ledger, wallets } = this.#machine
    ledger.define(wallets.prices.slice(this.#told))
    this.#told = wallets.prices.length
    for (let at = 0; at < debits.length; at += group) {
      const applied = ledger.apply(debits.slice(at, at + group).map((one) => ({ kind: 'settle', debit: one })))
      if (applied.kind === 'failed' || applied.answers.some((answer) => answer !== 'settled')) throw new Error('not settled')
    }
    return debits.length
  }

  /** Does the work that the ledger's thread does after so many settles while no client waits: it fills the table by which the pages of customers are read. */
  tidy(debits: number): void {
    for (let done = 0; done < debits; done += TIDIED_AT_ONCE) this.#machine.ledger.tidy()
  }

  /** Moves the log into the file, as the thread beside the writer does. */
  moveLog(): void {
    this.#machine.db.run('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /** Admits and releases requests without a debit; gives their number. */
  holdAndVoid(count: number): number {
    for (let n = 0; n < count; n++) {
      const requestId = `req_${String(++this.#requests).padStart(32, '0')}`
      if (this.#machine.wallets.hold(holdRequest(requestId, 'key_0', HOLD), 0) !== 'held') throw new Error('not held')
      this.#machine.wallets.void(requestId)
    }
    return count
  }

  /** Throws an error with the differences that `tollgate verify` would find. */
  verify(): void {
    const differences = this.#machine.differences()
    if (differences.length > 0) throw new Error(JSON.stringify(differences.slice(0, 5)))
  }

  close(): void {
    this.#machine.close()
  }
}
