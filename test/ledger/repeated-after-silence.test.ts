/**
 * Protects requests.md "Repeated requests", ledger.md "Failing writes", processes.md "Death": a request whose relay was told `unavailable`, because the ledger process stood still and no
 * spill kept the end, is not charged a second time beside its repetition at another relay, whatever is written when the ledger process goes on.
 */

import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { storeAmongRelays, storeInLedger } from '../../src/relay/answer-store.ts'
import { FileGround } from '../sim/file-ground.ts'
import type { Fault } from '../sim/ground.ts'
import { LedgerProcess } from '../sim/ledger-process.ts'
import { RelayProcess } from '../sim/relay-process.ts'
import { settleTurn, VirtualTime } from '../sim/virtual-time.ts'
import type { Wire } from '../sim/wire.ts'
import { createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../support/ledger.ts'
import { KEEPS_NOTHING } from '../support/relays.ts'

const IDEMPOTENCY = { headerHash: sha256('again'), bodyHash: sha256('body'), expiresAt: Number.MAX_SAFE_INTEGER }
const REPEATABLE = { keyId: 'key_1', headerHash: IDEMPOTENCY.headerHash, bodyHash: IDEMPOTENCY.bodyHash }
const TURNS_MAX = 20_000

let time: VirtualTime
let stage: Stage | undefined
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => {
  stage?.close()
  stage = undefined
  time.restore()
})

/** A ledger process with its file, and relays whose own spills keep nothing. */
class Stage {
  readonly opened: Promise<unknown>
  readonly #ground = new FileGround(makeFolder(), time.now)
  readonly #process: LedgerProcess
  readonly #relays: RelayProcess[] = []
  readonly #wires: Wire[] = []
  #fault: Fault = 'none'

  constructor() {
    this.#process = new LedgerProcess({
      ...{ time, ground: this.#ground, bootId: 'boot', kept: KEEPS_NOTHING, expected: [], beginningOf: () => 'then' },
      ...{ storage: () => ({ fault: this.#fault, spill: 'fails' }), retryMs: 2_000, spillBytes: 0 },
    })
    this.opened = this.ledger.start()
  }

  get ledger() {
    return this.#process.ledger
  }

  openRelay(pid: number) {
    const relay = new RelayProcess({
      ...{ pid, path: this.#ground.place().path, now: time.now, process: () => this.#process, isSpillSound: () => false },
      ...{ onWire: (wire) => void this.#wires.push(wire), onFenced: () => undefined, onFault: () => undefined },
    })
    this.#relays.push(relay)
    relay.begin()
    const { ledger, claims } = relay
    const kept = storeInLedger(
      { ledger, kept: undefined, now: time.now },
      { accountId: 'acc_1', key: new Uint8Array(), repeatable: REPEATABLE },
    )
    return { ledger, store: storeAmongRelays(claims, { repeatable: REPEATABLE }, kept) }
  }

  standStill(): void {
    this.#process.standStill()
  }

  goOn(): void {
    this.#process.goOn()
  }

  meet(fault: Fault): void {
    this.#fault = fault
    this.#process.meetStorage()
  }

  /** Lets all go on until something is so. Wires are read from the oldest on, as the kernel has them ready. */
  async until<T>(asked: Promise<T> | (() => boolean), what: string): Promise<T> {
    const told: { value?: T; isThere: boolean } = { isThere: false }
    if (typeof asked !== 'function') asked.then((value) => Object.assign(told, { value, isThere: true })).catch(() => undefined)
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      if (told.isThere || (typeof asked === 'function' && asked())) return told.value as T
      this.#wires.find(({ isBusy }) => isBusy)?.deliver(() => 0)
      this.#process.runThread()
      if (!this.#wires.some(({ isBusy }) => isBusy)) time.runNext()
      await settleTurn()
    }
    throw new Error(`not so: ${what}`)
  }

  receipts(): readonly unknown[] {
    const db = this.#ground.read() as Database
    try {
      return db.query('SELECT request_id AS id, cost_picos AS cost FROM receipts ORDER BY request_id').all()
    } finally {
      db.close()
    }
  }

  close(): void {
    for (const relay of this.#relays) relay.die()
    this.#process.die()
  }
}

const COST = usd('0.3')
const settleOf = (requestId: string) => settlement(requestId, { input: 100_000 }, { idempotency: IDEMPOTENCY, now: time.now() })
const holdOf = (requestId: string) => holdRequest(requestId, 'key_1', usd('0.5'), { now: time.now() })

/** One relay ends a request while the ledger process stands still, and its client is told an error. The ledger process goes on, over a disk that is as `fault` says. */
async function makeDoubt(fault: Fault) {
  const opened = new Stage()
  stage = opened
  await opened.until(opened.opened, 'the ledger is open')
  await opened.until(opened.ledger.operate(createKey('key_1', { balanceUsd: '10' })), 'there is a key')
  const [a, b] = [opened.openRelay(1), opened.openRelay(2)] as const
  await opened.until(() => a.ledger.mayAdmit() && b.ledger.mayAdmit(), 'both may admit')
  for (const { ledger } of [a, b]) await opened.until(ledger.findKey(sha256('key_1')), 'the key is known')
  expect(await opened.until(a.store.claim(), 'it is claimed')).toEqual({ kind: 'claimed' })
  expect(await opened.until(Promise.resolve(a.ledger.hold(holdOf('req_a'))), 'it is held')).toBe('held')
  opened.standStill()
  expect(await opened.until(a.ledger.settle(settleOf('req_a')), 'it is given up')).toBe('unavailable')
  a.store.release()
  opened.meet(fault)
  opened.goOn()
  await opened.until(() => a.ledger.mayAdmit() && b.ledger.mayAdmit(), 'both may admit again')
  return { stage: opened, b }
}

test('an end that was given up and is written all the same, when the ledger process goes on, is all that its repetition at another relay finds', async () => {
  const { stage, b } = await makeDoubt('none')
  expect(await stage.until(b.store.claim(), 'the other relay asks')).toMatchObject({ kind: 'used', requestId: 'req_a' })
  expect(stage.receipts()).toEqual([{ id: 'req_a', cost: COST }])
})

test('an end that was given up is all that its repetition finds, too, where the disk takes no write at first and does before the ledger gives the end up', async () => {
  const { stage, b } = await makeDoubt('broken')
  let isAnswered = false
  const asked = b.store.claim().finally(() => {
    isAnswered = true
  })
  const untilMs = performance.now() + 500
  await stage.until(() => isAnswered || performance.now() >= untilMs, 'no write is taken for a while')
  expect(stage.receipts()).toEqual([])
  stage.meet('none')
  expect(await stage.until(asked, 'the other relay asks')).toMatchObject({ kind: 'used', requestId: 'req_a' })
  expect(stage.receipts()).toEqual([{ id: 'req_a', cost: COST }])
})

test('an end that was given up is never written where the disk takes no write for longer, and its repetition is all that is charged', async () => {
  const { stage, b } = await makeDoubt('broken')
  expect(await stage.until(b.store.claim(), 'the other relay asks')).toEqual({ kind: 'claimed' })
  stage.meet('none')
  await stage.until(() => b.ledger.isWritable(), 'the disk takes writes')
  expect(await stage.until(Promise.resolve(b.ledger.hold(holdOf('req_b'))), 'it is held')).toBe('held')
  expect(await stage.until(b.ledger.settle(settleOf('req_b')), 'it is settled')).toBe('settled')
  expect(stage.receipts()).toEqual([{ id: 'req_b', cost: COST }])
})
