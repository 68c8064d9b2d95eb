/** Each operation of the ledger by itself, on the state machine. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { availableOf } from '../../src/core/key.ts'
import { picos, ZERO } from '../../src/core/money.ts'
import type { CreditKind, Operation } from '../../src/ledger/operation.ts'
import {
  type Ask,
  createKey,
  holdTask,
  type Machine,
  NOW,
  openMachine,
  operateTask,
  RATES,
  settleTask,
  sha256,
  usd,
} from '../support/ledger.ts'

let machine: Machine
beforeEach(() => {
  machine = openMachine()
})
afterEach(() => {
  expect(machine.differences()).toEqual([])
  machine.close()
})

const operate = (operation: Operation) => machine.ask(operateTask(operation))
/** What the row says; a key in memory is said the same. */
const balance = (keyId: string) => {
  const [row] = machine.statesOf(keyId)
  if (row === undefined) return undefined
  const keyBalance = machine.wallets.keys.keyBalanceOf(keyId)
  const stored = { availablePicos: availableOf(row), lastSyncedAt: Math.max(row.lastSyncedAt, row.toppedUpAt ?? 0) }
  if (keyBalance !== undefined) {
    const { limitPicos, spentPicos, account, lastSyncedAt } = keyBalance
    expect({ availablePicos: availableOf({ limitPicos, spentPicos, balancePicos: account.balancePicos }), lastSyncedAt }).toEqual(stored)
  } else machine.wallets.keys.load(row)
  return stored
}
const RATE_COLUMNS = {
  input_rate_picos: RATES.input,
  output_rate_picos: RATES.output,
  cache_read_rate_picos: RATES.cacheRead,
  cache_write_5m_rate_picos: RATES.cacheWrite5m,
  cache_write_1h_rate_picos: RATES.cacheWrite1h,
  server_tool_use_rate_picos: RATES.serverToolUse,
}
const row = (query: string): Record<string, unknown> | null => machine.db.query<Record<string, unknown>, []>(query).get()
const held = () => machine.wallets.holds().map(({ keyId, amountPicos }) => [keyId, amountPicos])
const voidTask = (requestId: string): Ask => ({ kind: 'void', requestId })

describe('hold', () => {
  test('is granted while anything is left, and reserves the whole amount even beyond the balance', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    expect(machine.ask(holdTask('r1', 'key_a', usd('0.4')))).toBe('held')
    expect(machine.ask(holdTask('r2', 'key_a', usd('5')))).toBe('held')
    expect(held()).toEqual([
      ['key_a', usd('0.4')],
      ['key_a', usd('5')],
    ])
    expect(machine.ask(holdTask('r3', 'key_a', usd('0.1')))).toBe('reserved')
  })

  test('says why nothing was granted, and leaves nothing behind', () => {
    operate(createKey('key_empty'))
    operate(createKey('key_held', { balanceUsd: '1' }))
    operate(createKey('key_limited', { balanceUsd: '1', limitPicos: usd('0.5') }))
    operate(createKey('key_spent', { balanceUsd: '1', limitPicos: picos(3_000_000n) }))
    operate(createKey('key_zero', { balanceUsd: '1', limitPicos: ZERO }))
    operate(createKey('key_off', { balanceUsd: '1' }))
    operate(createKey('key_account', { balanceUsd: '1' }))
    operate(createKey('key_old', { balanceUsd: '1', expiresAt: NOW }))
    operate(createKey('key_off_and_old', { expiresAt: NOW }))
    machine.askAll(holdTask('a', 'key_held', usd('1')), holdTask('b', 'key_limited', usd('0.5')), holdTask('c', 'key_spent', usd('0.1')))
    machine.ask(settleTask('c', { input: 1 }))
    operate({ kind: 'setKeyActive', keyId: 'key_off', isActive: false, now: NOW })
    operate({ kind: 'setKeyActive', keyId: 'key_off_and_old', isActive: false, now: NOW })
    operate({ kind: 'setAccountActive', accountId: 'acc_account', isActive: false, now: NOW })
    const before = held()
    const reasons = {
      key_empty: 'exhausted',
      key_held: 'reserved',
      key_limited: 'reserved',
      key_spent: 'exhausted',
      key_zero: 'exhausted',
      key_off: 'disabled',
      key_account: 'disabled',
      key_old: 'expired',
      key_off_and_old: 'disabled',
      key_unknown: 'disabled',
    }
    for (const [keyId, reason] of Object.entries(reasons)) {
      expect(`${keyId} ${String(machine.ask(holdTask(`req_${keyId}`, keyId, usd('0.001'))))}`).toBe(`${keyId} ${reason}`)
    }
    expect(held()).toEqual(before)
  })

  test('a key lives until the millisecond of its expiry', () => {
    operate(createKey('key_a', { balanceUsd: '1', expiresAt: NOW + 10 }))
    expect(machine.ask(holdTask('r1', 'key_a', usd('0.1'), { now: NOW + 9 }))).toBe('held')
    expect(machine.ask(holdTask('r2', 'key_a', usd('0.1'), { now: NOW + 10 }))).toBe('expired')
  })

  test('sent twice it reserves once, also when nothing would be granted any more', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    expect(machine.askAll(holdTask('r1', 'key_a', usd('2')), holdTask('r1', 'key_a', usd('2')))).toEqual(['held', 'held'])
    expect(held()).toEqual([['key_a', usd('2')]])
  })

  test('a request that was settled and is held again cannot be charged again, and what was taken for it is put back', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    machine.askAll(holdTask('r1', 'key_a', usd('0.1')), settleTask('r1', { input: 1 }))
    const [left] = machine.db.query('SELECT balance_picos FROM accounts').values() as [[bigint]]
    machine.ask(holdTask('r1', 'key_a', usd('0.1')))
    expect(machine.ask(settleTask('r1', { input: 300_000 }))).toBe('already')
    expect(machine.db.query('SELECT balance_picos FROM accounts').values()).toEqual([left])
    expect(machine.ask(holdTask('r2', 'key_a', usd('0.1')))).toBe('held')
  })
})

describe('settle and void', () => {
  test('the receipt keeps the usage, the rates of the hold and the exact cost; the money moves from held to spent', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    machine.ask(holdTask('r1', 'key_a', usd('0.5')))
    const usage = { input: 1_000, output: 200, cacheRead: 30, cacheWrite5m: 4, cacheWrite1h: 5, serverToolUses: 1 }
    expect(machine.ask(settleTask('r1', usage))).toBe('settled')
    const cost = 3_000_000_000n + 3_000_000_000n + 9_000_000n + 15_000_000n + 30_000_000n + 10_000_000_000n
    const session = sha256('session')
    const upstream = { name: 'main', model: 'vendor-1', messageId: 'msg_1', requestId: 'req_vendor' }
    machine.ask(holdTask('r2', 'key_a', usd('0.5')))
    machine.ask(
      settleTask('r2', { output: 1 }, { usageSource: 'estimated', bytesPerToken: 3.5, attempts: 2, upstream, sessionHash: session }),
    )
    expect(row("SELECT * FROM receipts JOIN upstreams ON upstreams.number = upstream_number WHERE request_id = 'r2'")).toMatchObject({
      basis: 'estimated',
      bytes_per_token_thousandths: 3_500n,
      attempts: 2n,
      name: 'main',
      model: 'vendor-1',
      upstream_message_id: 'msg_1',
      upstream_request_id: 'req_vendor',
      session_hash: session,
    })
    const query = `SELECT r.*, a.id AS account, k.id AS key, m.id AS model, b.id AS boot, ${Object.keys(RATE_COLUMNS).join(', ')} FROM receipts r
      JOIN accounts a ON a.number = r.account_number JOIN keys k ON k.number = r.key_number JOIN price_versions p ON p.number = r.price_number
      JOIN models m ON m.number = p.model_number JOIN boots b ON b.number = r.boot_number WHERE request_id = 'r1'`
    expect(row(query)).toEqual({
      number: expect.any(BigInt),
      request_id: 'r1',
      account_number: 1n,
      account: 'acc_a',
      key_number: 1n,
      key: 'key_a',
      price_number: 1n,
      model: 'sample-large',
      boot_number: 1n,
      boot: 'boot-1',
      upstream_number: null,
      upstream_message_id: null,
      upstream_request_id: null,
      attempts: 1n,
      bytes_per_token_thousandths: null,
      session_hash: null,
      tag: null,
      upstream_cost_number: null,
      upstream_cost_picos: null,
      cache_lost_picos: null,
      day: BigInt(Math.floor((NOW + 1_000) / 86_400_000)),
      lane: 0n,
      seq: 2n,
      hash: expect.any(Uint8Array),
      format: 'messages',
      is_stream: 1n,
      outcome: 'complete',
      basis: 'final',
      status: 200n,
      input_tokens: 1_000n,
      output_tokens: 200n,
      cache_read_tokens: 30n,
      cache_write_5m_tokens: 4n,
      cache_write_1h_tokens: 5n,
      server_tool_uses: 1n,
      ...RATE_COLUMNS,
      cost_picos: cost,
      waived_picos: 0n,
      hold_picos: usd('0.5'),
      started_at: BigInt(NOW),
      settled_at: BigInt(NOW + 1_000),
      first_byte_ms: 12n,
      duration_ms: 346n,
    })
    const spent = cost + 15_000_000n
    expect(row('SELECT spent_picos, balance_picos FROM accounts')).toEqual({ spent_picos: spent, balance_picos: usd('1') - spent })
    expect(held()).toEqual([])
    expect(balance('key_a')).toEqual({ availablePicos: picos(usd('1') - spent), lastSyncedAt: NOW + 1_000 })
  })

  test('what comes second changes nothing and says so', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    machine.askAll(holdTask('r1', 'key_a', usd('0.1')), holdTask('r2', 'key_a', usd('0.1')))
    expect(machine.ask(settleTask('r1', { output: 7 }))).toBe('settled')
    expect(machine.ask(voidTask('r2'))).toBe('voided')
    const before = machine.db.query('SELECT * FROM accounts').all()
    for (const task of [
      settleTask('r1', { output: 9 }),
      voidTask('r1'),
      settleTask('r2', { output: 9 }),
      voidTask('r2'),
      settleTask('never'),
      voidTask('never'),
    ]) {
      expect(machine.ask(task)).toBe('already')
    }
    expect(machine.db.query('SELECT * FROM accounts').all()).toEqual(before)
  })

  test('a waived answer costs nothing but keeps its tokens and their price', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    machine.ask(holdTask('r1', 'key_a', usd('0.1')))
    machine.ask(
      settleTask('r1', { output: 2 }, { outcome: 'fault', usageSource: 'partial', costPicos: ZERO, waivedPicos: picos(30_000_000n) }),
    )
    expect(row('SELECT cost_picos, waived_picos FROM usage_daily')).toEqual({ cost_picos: 0n, waived_picos: 30_000_000n })
    expect(balance('key_a')).toEqual({ availablePicos: usd('1'), lastSyncedAt: NOW + 1_000 })
  })

  test('a cost that is not the price of its tokens is refused by the database, neighbours in the same commit stand', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    machine.askAll(holdTask('r1', 'key_a', usd('0.1')), holdTask('r2', 'key_a', usd('0.1')), holdTask('r3', 'key_a', usd('0.1')))
    const bad = settleTask('r2', { output: 2 }, { costPicos: picos(29_999_999n) })
    const applied = machine.commit(settleTask('r1', { output: 1 }), bad, settleTask('r3', { output: 3 }))
    expect(applied.answers).toEqual(['settled', 'unavailable', 'settled'])
    expect(applied.faults).toHaveLength(1)
    expect(applied.faults[0]?.problem).toContain('exact_price')
    expect(row('SELECT spent_picos FROM accounts')).toEqual({ spent_picos: 60_000_000n })
    expect(row('SELECT spent_picos FROM keys')).toEqual({ spent_picos: 60_000_000n })
    expect(row('SELECT requests, output_tokens FROM usage_daily')).toEqual({ requests: 2n, output_tokens: 4n })
    expect(held()).toEqual([])
    expect(row('SELECT count(*) AS n FROM receipts')).toEqual({ n: 2n })
  })

  test('a receipt whose sums no account can hold goes with them; its neighbours stay', () => {
    operate(createKey('key_a', { balanceUsd: '8000000' }))
    operate(createKey('key_b', { balanceUsd: '1' }))
    const ids = ['a1', 'a2', 'b1']
    machine.askAll(...ids.map((id) => holdTask(id, `key_${id.charAt(0)}`, usd('0.1'))))
    const dear = { output: 400_000_000_000 }
    expect(machine.ask(settleTask('a1', dear))).toBe('settled')
    expect(machine.askAll(settleTask('a2', dear), settleTask('b1', { output: 1 }))).toEqual(['unavailable', 'settled'])
    expect(machine.db.query('SELECT request_id FROM receipts ORDER BY number').values()).toEqual([['a1'], ['b1']])
    expect(machine.askAll(holdTask('b2', 'key_b', usd('0.1')), settleTask('b2', { output: 1 }))).toEqual(['held', 'settled'])
  })

  test('numbers that no column can hold harm only their own task', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    const ids = ['r2', 'r3', 'r4', 'r5', 'r6', 'r7']
    expect(machine.askAll(...ids.map((id) => holdTask(id, 'key_a', usd('0.1'))))).toEqual(ids.map(() => 'held'))
    const answers = machine.askAll(
      holdTask('r1', 'key_a', picos(2n ** 70n)),
      holdTask('r0', 'key_a', picos(-5n)),
      settleTask('r2', { output: 1 }, { durationMs: Number.NaN }),
      settleTask('r3', { output: -1 }, { costPicos: ZERO }),
      settleTask('r4', { output: 1 }, { status: 200.5 }),
      settleTask('r5', { input: 2 ** 62, output: 2 ** 62 }, { costPicos: ZERO }),
      settleTask('r6', { output: 1 }, { costPicos: picos(2n ** 64n + 15_000_000n) }),
      settleTask('r7', { output: 1 }),
    )
    expect(answers).toEqual([...Array.from({ length: 7 }, () => 'unavailable'), 'settled'])
    expect(balance('key_a')).toMatchObject({ availablePicos: picos(usd('1') - 15_000_000n) })
    expect(held()).toEqual([])
  })

  test('receipts, credits, prices and the audit log cannot be changed or deleted, accounts and keys not deleted', () => {
    operate(createKey('key_a', { balanceUsd: '1' }))
    const upstream = { name: 'main', model: 'vendor-1' }
    machine.askAll(holdTask('r1', 'key_a', usd('0.1')), settleTask('r1', { output: 1 }, { upstream }))
    for (const sql of [
      'UPDATE receipts SET status = 500',
      'DELETE FROM receipts',
      "UPDATE credits SET ref = '1'",
      'DELETE FROM credits',
      "UPDATE audit_log SET after = ''",
      'DELETE FROM audit_log',
      'DELETE FROM accounts',
      'DELETE FROM keys',
      'UPDATE accounts SET balance_picos = balance_picos + 1',
      'UPDATE price_versions SET output_rate_picos = 0',
      'DELETE FROM models',
      'DELETE FROM boots',
      'DELETE FROM upstreams',
    ]) {
      expect(() => machine.db.run(sql)).toThrow()
    }
  })
})

describe('the operator', () => {
  test('every operation that is sent twice is done once, with one line in the audit log', () => {
    const operations: readonly Operation[] = [
      { kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: NOW },
      { kind: 'credit', creditKind: 'top-up', creditId: 'top_1', accountId: 'acc_1', amountPicos: usd('10'), ref: 'invoice 1', now: NOW },
      createKey('key_1', { accountId: 'acc_1', name: 'laptop', balanceUsd: '5' }),
      { kind: 'setKeyLimit', keyId: 'key_1', limitPicos: usd('3'), now: NOW },
      { kind: 'setKeyExpiry', keyId: 'key_1', expiresAt: NOW + 86_400_000, now: NOW },
      { kind: 'renameKey', keyId: 'key_1', name: 'desktop', now: NOW },
      { kind: 'renameAccount', accountId: 'acc_1', name: 'acme labs', now: NOW },
      { kind: 'rotateKey', keyId: 'key_1', secretHash: sha256('new'), display: 'sk-…new1', oldValidUntil: NOW + 60_000, now: NOW },
      { kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: NOW },
      { kind: 'setAccountActive', accountId: 'acc_1', isActive: false, now: NOW },
    ]
    for (const operation of operations)
      expect(machine.askAll(operateTask(operation), operateTask(operation))).toEqual([{ result: 'done' }, { result: 'done' }])
    expect(row('SELECT credited_picos, balance_picos FROM accounts')).toEqual({ credited_picos: usd('15'), balance_picos: usd('15') })
    expect(
      machine.db
        .query<{ action: string }, []>('SELECT action FROM audit_log ORDER BY id')
        .all()
        .map(({ action }) => action),
    ).toEqual([
      'createAccount',
      'credit',
      'createKey',
      'credit',
      'setKeyLimit',
      'setKeyExpiry',
      'renameKey',
      'renameAccount',
      'rotateKey',
      'setKeyActive',
      'setAccountActive',
    ])
    const audit = JSON.stringify(machine.db.query('SELECT before, after FROM audit_log').all())
    expect(audit).not.toContain(Buffer.from(sha256('new')).toString('hex'))
  })

  test('what cannot be done is refused in words and leaves no trace', () => {
    operate({ kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: NOW })
    operate({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: 'top_1',
      accountId: 'acc_1',
      amountPicos: usd('10'),
      ref: 'invoice 1',
      now: NOW,
    })
    operate(createKey('key_1', { accountId: 'acc_1', name: 'laptop' }))
    const before = machine.db
      .query('SELECT (SELECT count(*) FROM accounts) a, (SELECT count(*) FROM keys) k, (SELECT count(*) FROM audit_log) l')
      .get()
    const refusals: readonly (readonly [Operation, string])[] = [
      [{ kind: 'createAccount', accountId: 'acc_2', name: 'acme', topUp: null, now: NOW }, 'an account named "acme" exists'],
      [{ kind: 'createAccount', accountId: 'acc_1', name: 'other', topUp: null, now: NOW }, 'the account id acc_1 is taken'],
      [
        { kind: 'credit', creditKind: 'top-up', creditId: 'top_2', accountId: 'acc_9', amountPicos: usd('1'), ref: '', now: NOW },
        'there is no account acc_9',
      ],
      [
        { kind: 'credit', creditKind: 'top-up', creditId: 'top_2', accountId: 'acc_1', amountPicos: usd('1'), ref: 'invoice 1', now: NOW },
        'was used by top-up top_1',
      ],
      [
        { kind: 'credit', creditKind: 'top-up', creditId: 'top_1', accountId: 'acc_1', amountPicos: usd('1'), ref: 'invoice 1', now: NOW },
        'the credit id top_1 is taken',
      ],
      [
        { kind: 'credit', creditKind: 'top-up', creditId: 'top_2', accountId: 'acc_1', amountPicos: ZERO, ref: '', now: NOW },
        'must not be 0',
      ],
      [
        {
          kind: 'credit',
          creditKind: 'top-up',
          creditId: 'top_2',
          accountId: 'acc_1',
          amountPicos: usd('8999990.000001'),
          ref: '',
          now: NOW,
        },
        '9000000 USD at most',
      ],
      [createKey('key_2', { accountId: 'acc_9' }), 'there is no account acc_9'],
      [createKey('key_2', { accountId: 'acc_1', name: 'laptop' }), 'a key named "laptop" is on the account'],
      [createKey('key_2', { name: 'acme' }), 'an account named "acme" exists'],
      [createKey('key_1', { secretHash: sha256('another') }), 'is taken'],
      [createKey('key_2', { secretHash: sha256('key_1') }), 'is taken'],
      [createKey('key_2', { limitPicos: picos(-1n) }), 'a limit is between'],
      [createKey('key_2', { expiresAt: NOW + 90 * 86_400_000 + 1 }), 'at most 90 days'],
      [createKey('key_2', { topUp: { creditId: 'top_3', amountPicos: usd('1'), ref: 'invoice 1' } }), 'was used by top-up top_1'],
      [
        createKey('key_2', { accountId: 'acc_1', topUp: { creditId: 'top_1', amountPicos: usd('10'), ref: 'invoice 1' } }),
        'the credit id top_1 is taken',
      ],
      [{ kind: 'renameKey', keyId: 'key_9', name: 'x', now: NOW }, 'there is no key key_9'],
      [{ kind: 'renameAccount', accountId: 'acc_9', name: 'x', now: NOW }, 'there is no account acc_9'],
      [{ kind: 'renameKey', keyId: 'key_1', name: 'key_2', now: NOW }, 'kept for ids'],
      [{ kind: 'renameAccount', accountId: 'acc_1', name: ' x', now: NOW }, 'printable characters'],
      [{ kind: 'setKeyActive', keyId: 'key_9', isActive: true, now: NOW }, 'there is no key key_9'],
      [{ kind: 'setKeyLimit', keyId: 'key_1', limitPicos: picos(-1n), now: NOW }, 'a limit is between'],
      [{ kind: 'setKeyExpiry', keyId: 'key_1', expiresAt: NOW + 91 * 86_400_000, now: NOW }, 'at most 90 days'],
      [{ kind: 'rotateKey', keyId: 'key_9', secretHash: sha256('n'), display: '', oldValidUntil: NOW, now: NOW }, 'there is no key key_9'],
      [{ kind: 'setAccountActive', accountId: 'acc_9', isActive: true, now: NOW }, 'there is no account acc_9'],
    ]
    for (const [operation, words] of refusals)
      expect(operate(operation)).toEqual({ result: 'refused', problem: expect.stringContaining(words) })
    expect(
      machine.db.query('SELECT (SELECT count(*) FROM accounts) a, (SELECT count(*) FROM keys) k, (SELECT count(*) FROM audit_log) l').get(),
    ).toEqual(before)
  })

  test('a credit has a kind with its own sign, and a refund takes no more than is there', () => {
    operate({
      kind: 'createAccount',
      accountId: 'acc_1',
      name: 'acme',
      topUp: { creditId: 'crd_0', amountPicos: usd('10'), ref: '' },
      now: NOW,
    })
    const credit = (creditId: string, creditKind: CreditKind, amount: string, ref = ''): Operation => ({
      kind: 'credit',
      creditKind,
      creditId,
      accountId: 'acc_1',
      amountPicos: usd(amount),
      ref,
      now: NOW,
    })
    for (const [kind, amount, words] of [
      ['top-up', '-1', 'a top-up adds'],
      ['refund', '1', 'a refund takes'],
      ['refund', '-10.000000000001', 'the balance is 10 USD'],
      ['correction', '0', 'must not be 0'],
    ] as const)
      expect(operate(credit('crd_1', kind, amount))).toEqual({ result: 'refused', problem: expect.stringContaining(words) })
    expect(operate(credit('crd_1', 'top-up', '1', ' inv'))).toMatchObject({ result: 'refused' })
    const act = { actor: 'os:alice', address: 'file', reason: 'paid back' }
    expect(machine.ask(operateTask(credit('crd_2', 'refund', '-4', 'r-1'), act))).toEqual({ result: 'done' })
    expect(operate(credit('crd_3', 'correction', '-7'))).toEqual({ result: 'done' })
    expect(row('SELECT credited_picos, balance_picos FROM accounts')).toEqual({ credited_picos: usd('-1'), balance_picos: usd('-1') })
    expect(row("SELECT kind, ref, actor, reason FROM credits WHERE id = 'crd_2'")).toEqual({
      kind: 'refund',
      ref: 'r-1',
      actor: 'os:alice',
      reason: 'paid back',
    })
    expect(row("SELECT actor, address, action, target, reason, before, after FROM audit_log WHERE reason <> ''")).toEqual({
      ...act,
      action: 'credit',
      target: 'acc_1',
      before: '{"balanceUsd":"10"}',
      after: '{"creditId":"crd_2","kind":"refund","usd":"-4","ref":"r-1","balanceUsd":"6"}',
    })
  })

  test('a reference stands for one credit: the same again says by which it was done, anything else under it is refused', () => {
    operate({
      kind: 'createAccount',
      accountId: 'acc_1',
      name: 'acme',
      topUp: { creditId: 'crd_1', amountPicos: usd('5'), ref: 'inv' },
      now: NOW,
    })
    operate({ kind: 'createAccount', accountId: 'acc_2', name: 'other', topUp: null, now: NOW })
    const credit = {
      kind: 'credit',
      creditKind: 'top-up',
      creditId: 'crd_2',
      accountId: 'acc_1',
      amountPicos: usd('5'),
      ref: 'inv',
      now: NOW,
    } as const
    const earlier = { creditId: 'crd_1', accountId: 'acc_1' }
    const before = machine.db.query('SELECT * FROM accounts').all()
    const lines = row('SELECT count(*) AS n FROM audit_log')
    expect(machine.commit(operateTask(credit)).answers).toEqual([{ result: 'done', earlier }])
    const topUp = { creditId: 'crd_3', amountPicos: usd('5'), ref: 'inv' }
    expect(operate({ kind: 'createAccount', accountId: 'acc_3', name: 'acme', topUp, now: NOW })).toEqual({ result: 'done', earlier })
    for (const other of [
      { ...credit, amountPicos: usd('6') },
      { ...credit, accountId: 'acc_2' },
      { ...credit, creditKind: 'correction' as const },
    ])
      expect(operate(other)).toEqual({ result: 'refused', problem: 'the reference "inv" was used by top-up crd_1 of 5 USD' })
    expect(operate({ kind: 'createAccount', accountId: 'acc_3', name: 'another', topUp, now: NOW })).toMatchObject({ result: 'refused' })
    expect(operate(createKey('key_1', { accountId: 'acc_1', topUp }))).toEqual({
      result: 'refused',
      problem: 'the reference "inv" was credited to this account already, by crd_1; make the key without a balance',
    })
    expect(machine.db.query('SELECT * FROM accounts').all()).toEqual(before)
    expect(row('SELECT count(*) AS n FROM audit_log')).toEqual(lines)
    // Case is kept: another case is another reference.
    expect(operate({ ...credit, ref: 'INV' })).toEqual({ result: 'done' })
  })

  test('an account and its balance are one commit: what is refused of either leaves none', () => {
    operate({
      kind: 'createAccount',
      accountId: 'acc_1',
      name: 'acme',
      topUp: { creditId: 'crd_1', amountPicos: usd('5'), ref: 'inv' },
      now: NOW,
    })
    for (const topUp of [
      { creditId: 'crd_1', amountPicos: usd('5'), ref: '' },
      { creditId: 'crd_2', amountPicos: usd('6'), ref: 'inv' },
      { creditId: 'crd_2', amountPicos: usd('-6'), ref: '' },
    ])
      expect(operate({ kind: 'createAccount', accountId: 'acc_2', name: 'new', topUp, now: NOW })).toMatchObject({ result: 'refused' })
    expect(row('SELECT count(*) AS n FROM accounts')).toEqual({ n: 1n })
  })

  test('the balance of a key is the smaller of its account and its limit, also below zero, and is synced by top-ups and limit changes', () => {
    operate({ kind: 'createAccount', accountId: 'acc_1', name: '', topUp: null, now: NOW })
    operate(createKey('key_1', { accountId: 'acc_1', limitPicos: usd('2') }))
    operate(createKey('key_2', { accountId: 'acc_1' }))
    expect(balance('key_1')).toEqual({ availablePicos: ZERO, lastSyncedAt: NOW })
    operate({ kind: 'credit', creditKind: 'top-up', creditId: 'top_1', accountId: 'acc_1', amountPicos: usd('5'), ref: '', now: NOW + 1 })
    expect(balance('key_1')).toEqual({ availablePicos: usd('2'), lastSyncedAt: NOW + 1 })
    expect(balance('key_2')).toEqual({ availablePicos: usd('5'), lastSyncedAt: NOW + 1 })
    operate({ kind: 'setKeyLimit', keyId: 'key_1', limitPicos: null, now: NOW + 2 })
    expect(balance('key_1')).toEqual({ availablePicos: usd('5'), lastSyncedAt: NOW + 2 })
    machine.askAll(holdTask('r1', 'key_2', usd('9')), settleTask('r1', { output: 400_000 }, { now: NOW + 3 }))
    expect(balance('key_1')).toEqual({ availablePicos: usd('-1'), lastSyncedAt: NOW + 2 })
    expect(balance('key_9')).toBeUndefined()
  })

  test('a rotated secret ends when the overlap does, and a later rotation never prolongs it', () => {
    const find = (secret: string) => machine.ask({ kind: 'findKey', secretHash: sha256(secret) })
    operate(createKey('key_1', { secretHash: sha256('first') }))
    expect(find('first')).toMatchObject({ id: 'key_1', secretValidUntil: null, display: 'sk-…test' })
    operate({ kind: 'rotateKey', keyId: 'key_1', secretHash: sha256('second'), display: 'sk-…2222', oldValidUntil: NOW + 100, now: NOW })
    operate({ kind: 'rotateKey', keyId: 'key_1', secretHash: sha256('third'), display: 'sk-…3333', oldValidUntil: NOW + 500, now: NOW })
    expect(find('first')).toMatchObject({ id: 'key_1', secretValidUntil: NOW + 100 })
    expect(find('second')).toMatchObject({ id: 'key_1', secretValidUntil: NOW + 500 })
    expect(find('third')).toMatchObject({ id: 'key_1', secretValidUntil: null, display: 'sk-…3333' })
    expect(find('fourth')).toBeUndefined()
  })

  test('a secret that a rotation promised more time ends earlier only where that is said', () => {
    operate(createKey('key_1', { secretHash: sha256('first') }))
    const rotate = (secret: string, oldValidUntil: number, now: number, more = {}) =>
      machine.ask(
        operateTask({
          kind: 'rotateKey',
          keyId: 'key_1',
          secretHash: sha256(secret),
          display: `sk-…${secret}`,
          oldValidUntil,
          now,
          ...more,
        }),
      )
    const validUntil = (secret: string) => machine.ask({ kind: 'findKey', secretHash: sha256(secret) })
    expect(rotate('second', NOW + 100, NOW)).toMatchObject({ result: 'done' })
    const problem = `an earlier rotation promised the old secret sk-…test until ${new Date(NOW + 100).toISOString()}, and would end earlier`
    for (const until of [NOW, NOW + 99]) expect(rotate('third', until, NOW)).toEqual({ result: 'refused', problem })
    expect(validUntil('third')).toBeUndefined()
    expect(validUntil('first')).toMatchObject({ secretValidUntil: NOW + 100 })
    expect(rotate('third', NOW, NOW, { endsPromised: true })).toMatchObject({ result: 'done' })
    expect(validUntil('first')).toMatchObject({ secretValidUntil: NOW })
    // What was promised is over by then.
    expect(rotate('fourth', NOW + 1, NOW + 1)).toMatchObject({ result: 'done' })
  })

  test('changes name the key that may do more or less, or the account all of whose keys may, and whether running answers must stop', () => {
    operate({ kind: 'createAccount', accountId: 'acc_1', name: '', topUp: null, now: NOW })
    const changesOf = (operation: Operation) => {
      return machine.commit(operateTask(operation)).changes
    }
    expect(changesOf(createKey('key_1', { accountId: 'acc_1' }))).toEqual([{ keyId: 'key_1', stop: null }])
    operate(createKey('key_2', { accountId: 'acc_1' }))
    expect(changesOf({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: NOW })).toEqual([{ keyId: 'key_1', stop: 'disabled' }])
    expect(changesOf({ kind: 'setKeyActive', keyId: 'key_1', isActive: true, now: NOW })).toEqual([{ keyId: 'key_1', stop: null }])
    expect(changesOf({ kind: 'setKeyLimit', keyId: 'key_1', limitPicos: ZERO, now: NOW })).toEqual([{ keyId: 'key_1', stop: null }])
    expect(changesOf({ kind: 'setAccountActive', accountId: 'acc_1', isActive: false, now: NOW })).toEqual([
      { accountId: 'acc_1', stop: 'disabled' },
    ])
    expect(changesOf({ kind: 'setAccountTags', accountId: 'acc_1', tagsUserIds: true, now: NOW })).toEqual([
      { accountId: 'acc_1', stop: 'disabled' },
    ])
    expect(changesOf({ kind: 'setAccountActive', accountId: 'acc_1', isActive: true, now: NOW })).toEqual([
      { accountId: 'acc_1', stop: null },
    ])
    expect(changesOf({ kind: 'setAccountActive', accountId: 'acc_9', isActive: false, now: NOW })).toEqual([])
  })
})

test('a reload that all processes of a set write has one line, also where one of them counts fewer changes; another node or time has its own', () => {
  const reload = { kind: 'reload', changes: 2, node: null, now: NOW } as const
  const all = [reload, { ...reload, changes: 1 }, { ...reload, node: 'north' }, { ...reload, node: 'south' }, { ...reload, now: NOW + 1 }]
  for (const one of [...all, ...all]) operate(one)
  const lines = machine.db.query<{ at: number; after: string }, []>('SELECT at, after FROM audit_log ORDER BY id').all()
  expect(lines.map(({ at, after }) => [Number(at) - NOW, JSON.parse(after)])).toEqual([
    [0, { changes: 2 }],
    [0, { changes: 2, node: 'north' }],
    [0, { changes: 2, node: 'south' }],
    [1, { changes: 2 }],
  ])
})
