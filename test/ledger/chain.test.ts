/** The chain of an account: letter by letter what it hashes, gapless whatever fails, and whoever removes, reorders or changes a row is found by that row. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { RECEIPT_CHAIN } from '../../db/facts/receipts.ts'
import { asBytes } from '../../src/core/bytes/json-bytes.ts'
import { picos } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { creditText, NO_HASH, nextHash, ownerText, priceText, privateText, receiptHash, receiptText } from '../../src/ledger/chain/chain.ts'
import { createKey, holdTask, type Machine, NOW, openMachine, operateTask, RATES, settleTask, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'
import { fileTest } from '../support/store-choice.ts'

const HOLD = usd('0.01')
const RUNS = runs(25)
const TIMEOUT_MS = 180_000 + RUNS * 2_000

const OWNER = ownerText('acc_1')
const OWNER_BYTES = asBytes(OWNER)
const RECEIPT = {
  seq: 2,
  requestId: 'req_1',
  costPicos: 45n,
  waivedPicos: 0n,
  holdPicos: 100n,
  usage: { input: 1, output: 2, cacheRead: 3, cacheWrite5m: 4, cacheWrite1h: 5, serverToolUses: 6 },
  format: 'chat',
  isStream: true,
  outcome: 'complete',
  usageSource: 'final',
  bytesPerTokenThousandths: null,
  status: 200,
  attempts: 1,
  startedAt: 1_800_000_000_000,
  settledAt: 1_800_000_001_000,
  day: 20_833,
  firstByteMs: 12,
  durationMs: 1_000,
}
const SECRET = privateText('salt', ['main', 'vendor-model', undefined, null])

describe('the text that is hashed is, letter by letter,', () => {
  test('that of a receipt', () => {
    const parts = [RECEIPT, OWNER_BYTES, 'key_1', asBytes(priceText('model "a"', RATES)), SECRET] as const
    const text = receiptText(...parts)
    expect(text).toBe(
      '{"v":1,"kind":"receipt","account":"acc_1","lane":0,"seq":2,"id":"req_1","key":"key_1","model":"model \\"a\\"","rates_picos":{"input":"3000000","output":"15000000","cache_read":"300000","cache_write_5m":"3750000","cache_write_1h":"6000000","server_tool_use":"10000000000"},"tokens":{"input":1,"output":2,"cache_read":3,"cache_write_5m":4,"cache_write_1h":5,"server_tool_uses":6},"cost_picos":"45","waived_picos":"0","hold_picos":"100","format":"chat","stream":true,"outcome":"complete","basis":"final","bytes_per_token_thousandths":null,"status":200,"attempts":1,"started_at":1800000000000,"settled_at":1800000001000,"day":20833,"first_byte_ms":12,"duration_ms":1000,"private":"e1244d2592ca8a068c29d157cd8683c3a2f7aae5ce6a162874ee2099022c4e6b"}',
    )
    expect(receiptHash(NO_HASH, ...parts).toHex()).toBe(nextHash(NO_HASH, text).toString('hex'))
    expect(nextHash(NO_HASH, text).toString('hex')).toBe('69de6eeb7140f9c86c745676b62729229db0e53daf46f6ed4709c9363f5d1219')
  })

  test('that of a credit', () => {
    const credit = { seq: 1, id: 'top_1', kind: 'top-up', amountPicos: 25_000_000_000_000n, ref: 'invoice 7', createdAt: 1_800_000_000_000 }
    expect(creditText(credit, OWNER, 'ff')).toBe(
      '{"v":1,"kind":"credit","account":"acc_1","lane":0,"seq":1,"id":"top_1","type":"top-up","amount_picos":"25000000000000","ref":"invoice 7","created_at":1800000000000,"private":"ff"}',
    )
  })

  test('the same for whole numbers of either kind', () => {
    const asRead = Object.fromEntries(
      Object.entries(RECEIPT).map(([name, value]) => [name, typeof value === 'number' ? BigInt(value) : value]),
    )
    const price = asBytes(priceText('m', RATES))
    expect(receiptText(asRead as unknown as typeof RECEIPT, OWNER_BYTES, 'k', price, '')).toBe(
      receiptText(RECEIPT, OWNER_BYTES, 'k', price, ''),
    )
  })
})

type Act =
  | Readonly<{ kind: 'request'; keyId: string; input: number; isWrong: boolean }>
  | Readonly<{ kind: 'credit'; accountId: string; amount: bigint }>

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('request' as const),
      keyId: fc.constantFrom('key_a', 'key_b', 'key_c'),
      input: fc.nat(100),
      isWrong: fc.nat(9).map((n) => n === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('credit' as const),
      accountId: fc.constantFrom('acc_shared', 'acc_c'),
      amount: fc.bigInt(-5n, 5n).map((n) => n * 1_000_000n),
    }),
  },
)

function openWithKeys(): Machine {
  const machine = openMachine()
  machine.ask(operateTask({ kind: 'createAccount', accountId: 'acc_shared', name: '', topUp: null, now: NOW }))
  machine.ask(
    operateTask({
      kind: 'credit',
      creditKind: 'correction',
      creditId: 'first',
      accountId: 'acc_shared',
      amountPicos: usd('1000'),
      ref: '',
      now: NOW,
    }),
  )
  for (const keyId of ['key_a', 'key_b']) machine.ask(operateTask(createKey(keyId, { accountId: 'acc_shared' })))
  machine.ask(operateTask(createKey('key_c', { balanceUsd: '1000' })))
  return machine
}

/** Each group in one commit. What is wrong breaks its group, which is replayed; a credit of 0 is refused, and rolled back. */
function perform(machine: Machine, groups: readonly (readonly Act[])[]): void {
  let last = 0
  for (const group of groups) {
    machine.commit(
      ...group.flatMap((one) => {
        const id = `${++last}`
        if (one.kind === 'credit') {
          return operateTask({
            kind: 'credit',
            creditKind: 'correction',
            creditId: `top_${id}`,
            accountId: one.accountId,
            amountPicos: picos(one.amount),
            ref: '',
            now: NOW,
          })
        }
        const cost = costOf({ ...NO_USAGE, input: one.input }, RATES)
        const costPicos = one.isWrong ? picos(cost + 1n) : cost
        return [holdTask(`req_${id}`, one.keyId, HOLD), settleTask(`req_${id}`, { input: one.input }, { costPicos })]
      }),
    )
  }
}

/** The whole chain of an account, receipts and credits. */
const placesOf = ({ db }: Machine, account: number): number[] =>
  db
    .query(`SELECT seq FROM receipts WHERE account_number = ?1 UNION ALL SELECT seq FROM credits WHERE account_number = ?1 ORDER BY seq`)
    .values(account)
    .map(([seq]) => Number(seq))

test(
  'whatever fails and is replayed or rolled back, a chain has no gap and its end is in its account’s row',
  () => {
    fc.assert(
      fc.property(fc.array(fc.array(act, { minLength: 1, maxLength: 6 }), { maxLength: 8 }), (groups) => {
        const machine = openWithKeys()
        perform(machine, groups)
        expect(machine.differences()).toEqual([])
        for (const account of [1, 2]) {
          const places = placesOf(machine, account)
          expect(places).toEqual(places.map((_, index) => index + 1))
          const [[count]] = machine.db.query('SELECT chain_count FROM chain_heads WHERE account_number = ?').values(account) as [[bigint]]
          expect(Number(count)).toBe(places.length)
        }
        machine.close()
      }),
      { numRuns: RUNS },
    )
  },
  TIMEOUT_MS,
)

/** What a text column becomes, what a number does: something else that the column may hold. */
const CHANGES: Readonly<Record<string, string>> = {
  request_id: "request_id || 'x'",
  upstream_number: '2',
  upstream_message_id: "'msg_other'",
  upstream_request_id: "'req_other'",
  attempts: 'attempts + 1',
  format: "'responses'",
  is_stream: '1 - is_stream',
  outcome: "'cut'",
  basis: "'partial'",
  status: '499',
  input_tokens: 'input_tokens + 1',
  output_tokens: 'output_tokens + 1',
  cache_read_tokens: 'cache_read_tokens + 1',
  cache_write_5m_tokens: 'cache_write_5m_tokens + 1',
  cache_write_1h_tokens: 'cache_write_1h_tokens + 1',
  server_tool_uses: 'server_tool_uses + 1',
  cost_picos: 'cost_picos + 1',
  waived_picos: 'waived_picos + 1',
  hold_picos: 'hold_picos + 1',
  session_hash: 'randomblob(32)',
  started_at: 'started_at + 1',
  settled_at: 'settled_at + 1',
  day: 'day + 1',
  first_byte_ms: 'first_byte_ms + 1',
  duration_ms: 'duration_ms + 1',
  lane: '1',
  hash: 'randomblob(32)',
  key_number: '3 - key_number',
  boot_number: '2',
  price_number: '2',
}
/** What came after version 1 of the chain. */
const LATER = Object.fromEntries(
  RECEIPT_CHAIN.slice(1)
    .flatMap((version) => [...version.public, ...version.private])
    .map((column) => [column, '7']),
)
/** `bytes_per_token_thousandths` goes with an estimate only, `upstream_cost_number` with a cost, which is hashed. */
const NOT_ALONE = ['number', 'account_number', 'seq', 'bytes_per_token_thousandths', 'upstream_cost_number']

/** Eight receipts of two keys and two credits on one account. */
function openWithChain(): Machine {
  const machine = openWithKeys()
  const upstream = { name: 'main', model: 'vendor', messageId: 'msg_1', requestId: 'theirs_1' }
  for (let n = 1; n <= 8; n++) {
    const requestId = `req_${n}`
    machine.ask(holdTask(requestId, n % 2 === 0 ? 'key_a' : 'key_b', HOLD))
    machine.ask(settleTask(requestId, { input: n }, { upstream, sessionHash: new Uint8Array(32).fill(n) }))
    if (n === 4)
      machine.ask(
        operateTask({
          kind: 'credit',
          creditKind: 'correction',
          creditId: 'top_mid',
          accountId: 'acc_shared',
          amountPicos: usd('1'),
          ref: 'r',
          now: NOW,
        }),
      )
  }
  expect(machine.differences()).toEqual([])
  for (const trigger of ['receipts_no_update', 'receipts_no_delete', 'credits_no_update', 'credits_no_delete'])
    machine.db.run(`DROP TRIGGER ${trigger}`)
  machine.db.run('PRAGMA ignore_check_constraints = ON')
  machine.db.run('PRAGMA foreign_keys = OFF')
  machine.db.run("INSERT INTO upstreams (name, model) VALUES ('other', 'vendor')")
  machine.db.run("INSERT INTO boots (id, node, started_at) VALUES ('boot-x', 'n', 1)")
  machine.db.run(`INSERT INTO price_versions (number, model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos,
    cache_write_1h_rate_picos, server_tool_use_rate_picos) SELECT 2, model_number, input_rate_picos + 1, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos,
    cache_write_1h_rate_picos, server_tool_use_rate_picos FROM price_versions`)
  return machine
}

/** Of the chain alone: rule and row. */
const namedBy = (machine: Machine): string[] =>
  machine
    .differences()
    .filter(({ rule }) => /chain|hash/.test(rule))
    .map(({ rule, subject }) => `${rule}: ${subject}`)

describe('verify names', () => {
  fileTest()('a receipt of which any column was changed, and no other row', () => {
    const machine = openWithChain()
    const columns = machine.db
      .query<{ name: string }, []>("SELECT name FROM pragma_table_info('receipts')")
      .all()
      .map(({ name }) => name)
    expect(columns.filter((name) => !NOT_ALONE.includes(name)).sort()).toEqual(Object.keys({ ...CHANGES, ...LATER }).sort())
    for (const [column, value] of Object.entries({ ...CHANGES, ...LATER })) {
      machine.db.run('SAVEPOINT tampering')
      machine.db.run(`UPDATE receipts SET ${column} = ${value} WHERE number = 3`)
      const id = column === 'request_id' ? 'req_3x' : 'req_3'
      expect([column, namedBy(machine)]).toEqual([column, [`a row is what its hash says: ${id}`]])
      machine.db.run('ROLLBACK TO tampering')
      machine.db.run('RELEASE tampering')
    }
    machine.close()
  })

  fileTest().each([
    ["UPDATE credits SET amount_picos = 1 WHERE id = 'top_mid'", ['a row is what its hash says: top_mid']],
    ["UPDATE credits SET ref = '' WHERE id = 'top_mid'", ['a row is what its hash says: top_mid']],
    ["UPDATE credits SET actor = 'x' WHERE id = 'top_mid'", ['a row is what its hash says: top_mid']],
    ["UPDATE credits SET reason = 'x' WHERE id = 'top_mid'", ['a row is what its hash says: top_mid']],
    ['DELETE FROM receipts WHERE number = 3', ['the chain of an account has no gap: req_4']],
    ["DELETE FROM credits WHERE id = 'top_mid'", ['the chain of an account has no gap: req_5']],
    ['DELETE FROM receipts WHERE number = 8', ['the chain of an account ends where its account says: acc_shared']],
    ["DELETE FROM credits WHERE id = 'first'", ['the chain of an account has no gap: req_1']],
    [
      'UPDATE accounts SET chain_hash = randomblob(32) WHERE number = 1',
      ['the chain of an account ends where its account says: acc_shared'],
    ],
    [
      'UPDATE receipts SET number = 100 WHERE number = 3; UPDATE receipts SET number = 3 WHERE number = 4; UPDATE receipts SET number = 4 WHERE number = 100',
      ['the chain of an account has no gap: req_4', 'the rows of an account stand in the order of its chain: req_3'],
    ],
    [
      'UPDATE receipts SET seq = 100 WHERE number = 3; UPDATE receipts SET seq = seq - 1 WHERE number = 4; UPDATE receipts SET seq = 5 WHERE number = 3',
      [
        'the chain of an account has no gap: req_3',
        'the rows of an account stand in the order of its chain: req_4',
        'a row is what its hash says: top_mid',
      ],
    ],
    [
      "INSERT INTO receipts (number, request_id, account_number, key_number, price_number, boot_number, upstream_number, upstream_message_id, upstream_request_id, attempts, format, is_stream, outcome, basis, bytes_per_token_thousandths, status, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, hold_picos, session_hash, started_at, settled_at, day, first_byte_ms, duration_ms, lane, seq, hash) SELECT 50, 'req_copy', account_number, key_number, price_number, boot_number, upstream_number, upstream_message_id, upstream_request_id, attempts, format, is_stream, outcome, basis, bytes_per_token_thousandths, status, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, hold_picos, session_hash, started_at, settled_at, day, first_byte_ms, duration_ms, lane, seq, hash FROM receipts WHERE number = 3",
      ['the rows of an account stand in the order of its chain: req_copy'],
    ],
    // At the place of a receipt, where no walk looks for it.
    [
      "INSERT INTO credits SELECT 'added', account_number, kind, amount_picos, '', actor, reason, created_at, lane, 3, hash FROM credits WHERE id = 'top_mid'",
      ['the rows of an account stand in the order of its chain: acc_shared'],
    ],
  ])('what was done to the rows: %s', (tampering, named) => {
    const machine = openWithChain()
    for (const statement of tampering.split('; ')) machine.db.run(statement)
    expect(namedBy(machine)).toEqual(named)
    machine.close()
  })

  fileTest()('an account that lost its chain together with its end', () => {
    const machine = openWithChain()
    machine.db.run('DELETE FROM receipts WHERE number = 8')
    machine.db.run(
      'UPDATE accounts SET chain_count = chain_count - 1, chain_hash = (SELECT hash FROM receipts WHERE number = 7) WHERE number = 1',
    )
    // The chain alone is whole; the sums are not.
    expect(namedBy(machine)).toEqual([])
    expect(machine.differences()).not.toEqual([])
    machine.close()
  })
})
