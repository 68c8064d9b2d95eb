/** Every upstream call that may have cost us money is on record, whatever its client paid; and a client's Idempotency-Key is written with the receipt, once. */

import { describe, expect, test } from 'bun:test'
import { NO_USAGE } from '../../src/core/usage.ts'
import type { Attempt } from '../../src/ledger/ledger.ts'
import { ReceiptPages } from '../../src/ledger/reading/receipt-pages.ts'
import {
  createKey,
  holdRequest,
  holdTask,
  type Machine,
  makePath,
  NOW,
  openMachine,
  openTestLedger,
  operateTask,
  settlement,
  settleTask,
  sha256,
  usd,
} from '../support/ledger.ts'
import { fileTest } from '../support/store-choice.ts'

const HOLD = usd('0.01')
const USED = { ...NO_USAGE, input: 100, output: 3 }
/** 100 × 3 + 3 × 15 USD a million. */
const PRICE = usd('0.000345')

const attempt = (number: number, more: Partial<Attempt> = {}): Attempt => ({
  number,
  upstream: { name: 'first', model: 'vendor-model', messageId: 'msg_1' },
  status: 200,
  cause: 'reset',
  usageSource: 'partial',
  usage: USED,
  startedAt: NOW,
  durationMs: 12.4,
  ...more,
})

function openWithKey(path = makePath()): Machine {
  const machine = openMachine(path)
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  machine.ask(holdTask('req_1', 'key_a', HOLD))
  return machine
}

const recorded = (machine: Machine, requestId = 'req_1') => new ReceiptPages(machine.db).attempts(requestId)

describe('attempts', () => {
  test('stand beside the receipt, at the rates of the request', () => {
    const machine = openWithKey()
    const other = attempt(1, { status: null, upstream: { name: 'second', model: 'm' } })
    machine.ask(settleTask('req_1', USED, { otherAttempts: [other, attempt(2)], attempts: 3 }))
    expect(recorded(machine)).toEqual([
      {
        requestId: 'req_1',
        number: 1,
        accountId: 'acc_a',
        keyId: 'key_a',
        modelId: 'sample-large',
        upstream: { name: 'second', model: 'm' },
        status: null,
        cause: 'reset',
        usageSource: 'partial',
        usage: USED,
        pricePicos: PRICE,
        upstreamCostPicos: null,
        startedAt: NOW,
        durationMs: 12,
      },
      expect.objectContaining({ number: 2, status: 200, upstream: { name: 'first', model: 'vendor-model', messageId: 'msg_1' } }),
    ])
    expect(machine.differences()).toEqual([])
    machine.close()
  })

  test('of a request that is voided are on record, and cost its client nothing', () => {
    const machine = openWithKey()
    expect(machine.ask({ kind: 'void', requestId: 'req_1', attempts: [attempt(1)] })).toBe('voided')
    expect(recorded(machine)).toHaveLength(1)
    expect(machine.db.query('SELECT count(*) FROM receipts').values()).toEqual([[0n]])
    machine.close()
  })

  test('of a receipt that is written twice are written once', () => {
    const machine = openWithKey()
    machine.ask(settleTask('req_1', USED, { otherAttempts: [attempt(1)] }))
    machine.ask(holdTask('req_1', 'key_a', HOLD))
    expect(machine.ask(settleTask('req_1', USED, { otherAttempts: [attempt(1), attempt(2)] }))).toBe('already')
    expect(recorded(machine)).toHaveLength(1)
    machine.close()
  })

  test('that a checkpoint told are found after the process died, and counted in the receipt of the recovery', () => {
    const path = makePath()
    const machine = openWithKey(path)
    const upstream = { name: 'second', model: 'm', messageId: 'msg_2' }
    const progress = { usage: USED, usageSource: 'partial', upstream, otherAttempts: [attempt(1)] } as const
    machine.ask({ kind: 'checkpoint', requestId: 'req_1', progress, now: NOW + 1_500 })
    machine.ask({ kind: 'checkpoint', requestId: 'req_1', progress, now: NOW + 6_500 })
    machine.close()
    const next = openMachine(path, 'boot-2')
    expect(next.ledger.recover(NOW + 9_000)).toBe(1)
    expect(recorded(next)).toHaveLength(1)
    expect(new ReceiptPages(next.db).receipt('req_1')).toMatchObject({ outcome: 'recovered', attempts: 2, upstream, waivedPicos: PRICE })
    expect(next.differences()).toEqual([])
    next.close()
  })

  fileTest()(
    'of a receipt that could not be written are recorded when the ledger takes writes again, and those of a void soon',
    async () => {
      const { ledger, path } = await openTestLedger()
      await ledger.operate(createKey('key_a', { balanceUsd: '10' }))
      for (const requestId of ['req_1', 'req_2', 'req_3']) await ledger.hold(holdRequest(requestId, 'key_a', HOLD))
      const upstream = { name: 'second', model: 'm', messageId: 'msg_2' }
      const wrong = { upstream, attempts: 2, otherAttempts: [attempt(1)], costPicos: usd('1') }
      expect(await ledger.settle(settlement('req_1', USED, wrong))).toBe('unavailable')
      expect(ledger.void('req_2', [attempt(1)])).toBe('voided')
      expect(await ledger.settle(settlement('req_3', USED, { otherAttempts: [attempt(1)] }))).toBe('settled')
      await ledger.close()
      const machine = openMachine(path, 'boot-2')
      expect(recorded(machine).map(({ number, cause, upstream: { name }, pricePicos }) => [number, cause, name, pricePicos])).toEqual([
        [1, 'reset', 'first', PRICE],
        [2, 'storage', 'second', PRICE],
      ])
      expect(recorded(machine, 'req_2')).toHaveLength(1)
      expect(recorded(machine, 'req_3')).toHaveLength(1)
      expect(machine.differences()).toEqual([])
      machine.close()
    },
  )

  fileTest()('with a price that is not their tokens at their rates are named by verify', () => {
    const machine = openWithKey()
    machine.ask({ kind: 'void', requestId: 'req_1', attempts: [attempt(1)] })
    machine.db.run('DROP TRIGGER attempts_no_update')
    machine.db.run('UPDATE attempts SET output_tokens = 4')
    expect(machine.differences().map(({ subject }) => subject)).toContain('req_1 1')
    machine.close()
  })
})

describe('an idempotency key', () => {
  const idempotency = { headerHash: sha256('retry-1'), bodyHash: sha256('body'), expiresAt: NOW + 86_400_000 }
  const settle = (machine: Machine, requestId: string, more: Parameters<typeof settlement>[2]): void => {
    machine.ask(holdTask(requestId, 'key_a', HOLD))
    expect(machine.ask(settleTask(requestId, USED, more))).toBe('settled')
  }
  const find = (machine: Machine, now: number, header = 'retry-1', keyId = 'key_a') =>
    machine.ask({ kind: 'findIdempotency', keyId, headerHash: sha256(header), now })

  test('is found with its request until it expires, by its key alone', () => {
    const machine = openWithKey()
    settle(machine, 'req_1', { idempotency })
    expect(find(machine, NOW)).toEqual({ requestId: 'req_1', bodyHash: sha256('body'), expiresAt: idempotency.expiresAt })
    expect(find(machine, idempotency.expiresAt - 1)).toBeDefined()
    expect(find(machine, idempotency.expiresAt)).toBeUndefined()
    expect(find(machine, NOW, 'retry-2')).toBeUndefined()
    expect(find(machine, NOW, 'retry-1', 'key_b')).toBeUndefined()
    machine.close()
  })

  test('keeps its first request while it counts, and goes to the next one after that', () => {
    const machine = openWithKey()
    settle(machine, 'req_1', { idempotency })
    settle(machine, 'req_2', { idempotency: { ...idempotency, bodyHash: sha256('other'), expiresAt: NOW + 2 * 86_400_000 } })
    expect(find(machine, NOW)).toMatchObject({ requestId: 'req_1', bodyHash: sha256('body') })
    const later = { ...idempotency, expiresAt: idempotency.expiresAt + 1_000 }
    settle(machine, 'req_3', { idempotency: later, now: idempotency.expiresAt })
    expect(find(machine, idempotency.expiresAt)).toMatchObject({ requestId: 'req_3' })
    machine.close()
  })

  test('is not written by a settle that fails', () => {
    const machine = openWithKey()
    const { faults } = machine.commit(settleTask('req_1', USED, { idempotency, costPicos: usd('1') }))
    expect(faults).toHaveLength(1)
    expect(find(machine, NOW)).toBeUndefined()
    machine.close()
  })
})
