/** A statement is an account's rows in a range, signed, and in order by itself. A ledger that was written anew differs from an earlier one. */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NO_HASH, nextHash } from '../../src/ledger/chain/chain.ts'
import { ChainRows } from '../../src/ledger/chain/chain-rows.ts'
import { holdTask, openMachine, operateTask, settleTask, usd } from '../support/ledger.ts'
import { placeWithReceipts } from './receipts.ts'
import { NOW, Workplace } from './run.ts'

let place: Workplace
let accountId: string
beforeEach(async () => {
  const made = await placeWithReceipts()
  place = made.place
  accountId = made.accountId
})
afterEach(() => place.remove())

async function statement(...range: string[]): Promise<string> {
  const { code, out, err } = await place.run('statement', 'app', ...range)
  expect([code, err]).toEqual([0, ''])
  return out
}

const DAY_MS = 86_400_000

const check = (text: string, ...more: string[]) => {
  writeFileSync(join(place.folder, 'statement.jsonl'), text)
  return place.run('verify-statement', 'statement.jsonl', ...more)
}
const objects = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('a statement', () => {
  test('of a range that ends before it begins, or where it does, is wrong use', async () => {
    for (const range of [
      ['--from', '2026-11-22', '--to', '2026-11-20'],
      ['--from', '2026-11-22T10:00:00Z', '--to', '2026-11-22T10:00:00Z'],
    ])
      expect(await place.run('statement', 'app', ...range)).toEqual({ code: 2, out: '', err: 'tollgate: --from is not before --to\n' })
    await statement('--from', '2026-11-22', '--to', '2026-11-22')
  })

  test('holds the head, each row, the sums and the signature, and is in order without the ledger', async () => {
    const text = await statement()
    const [head, credit, ...rest] = objects(text)
    expect(head).toMatchObject({ statement: 1, account: accountId, from: null, to: null, previous: NO_HASH, opening_balance_picos: '0' })
    expect(credit).toMatchObject({ kind: 'credit', seq: 1, type: 'top-up', amount_picos: '25000000000000' })
    expect(rest.slice(0, 6).map(({ id, seq, kind }) => [id, seq, kind])).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => [`req_${n}`, n + 2, 'receipt']),
    )
    expect(rest[6]).toMatchObject({ rows: 7, credits_picos: '25000000000000', costs_picos: String(75 * 3_000_000 + 15 * 15_000_000) })
    expect(Object.keys(rest[7] ?? {})).toEqual(['signature'])
    // What only operators may see is not in it.
    expect(text).not.toContain('boot-test')
    const elsewhere = new Workplace()
    writeFileSync(join(elsewhere.folder, 's.jsonl'), text)
    expect(await elsewhere.json('verify-statement', 's.jsonl')).toEqual({
      ok: true,
      account: accountId,
      rows: 7,
      public_key: String(head?.['public_key']),
      data: [],
    })
    elsewhere.remove()
  })

  test('is in order whatever letters a reference has', async () => {
    expect(await place.run('accounts', 'top-up', 'app', '1', '--ref', 'line\u2028end')).toMatchObject({ code: 0 })
    const { out } = await place.run('statement', 'app')
    expect(out).toContain('line\u2028end')
    writeFileSync(join(place.folder, 'statement.jsonl'), out)
    expect(await place.run('verify-statement', 'statement.jsonl')).toMatchObject({ code: 0 })
  })

  test('of some days begins with the hash and the balance before them', async () => {
    const whole = objects(await statement())
    const text = await statement('--from', '2026-11-22', '--to', '2026-11-24')
    const [head, ...rest] = objects(text)
    expect(rest.slice(0, -2).map(({ id }) => id)).toEqual(['req_1', 'req_2', 'req_3'])
    expect(head).toMatchObject({ from: '2026-11-22T00:00:00.000Z', previous: whole[2]?.['hash'], opening_balance_picos: '24999970000000' })
    expect(head?.['heads']).toEqual([{ lane: 0, count: 7, hash: whole[7]?.['hash'] }])
    expect(await check(text)).toMatchObject({ code: 0 })
  })

  test('of days without a row has none, and still a balance', async () => {
    const text = await statement('--from', '2030-01-01')
    expect(objects(text)[1]).toMatchObject({ rows: 0, credits_picos: '0', costs_picos: '0' })
    expect(objects(text)[1]?.['closing_balance_picos']).toBe(objects(await statement()).at(-2)?.['closing_balance_picos'])
    expect(await check(text)).toMatchObject({ code: 0 })
  })

  test('of days before a top-up ends before it', async () => {
    const days = ['--from', '2026-11-22', '--to', '2026-11-24']
    const before = objects(await statement(...days))
    const machine = openMachine(place.ledgerPath, 'boot-later')
    const [[keyId]] = machine.db.query('SELECT id FROM keys').values() as [[string]]
    const credit = { kind: 'credit', creditKind: 'top-up', accountId, amountPicos: usd('5'), ref: '' } as const
    machine.ask(operateTask({ ...credit, creditId: 'top_within', now: NOW + 30 * DAY_MS }))
    machine.askAll(holdTask('req_last', keyId, usd('0.01')), settleTask('req_last', { input: 1 }, { now: NOW + 30 * DAY_MS }))
    machine.ask(operateTask({ ...credit, creditId: 'top_after', now: NOW + 60 * DAY_MS }))
    machine.close()
    const idsIn = (lines: readonly Record<string, unknown>[]) => lines.slice(1, -2).map(({ id }) => id)
    expect(idsIn(objects(await statement(...days)))).toEqual(idsIn(before))
    const day = new Date(NOW + 30 * DAY_MS).toISOString().slice(0, 10)
    const text = await statement('--from', day, '--to', day)
    expect(idsIn(objects(text))).toEqual(['top_within', 'req_last'])
    expect(await check(text)).toMatchObject({ code: 0 })
  })

  test('of days before which a clock had jumped ahead opens with the balance of every row before them', async () => {
    const machine = openMachine(place.ledgerPath, 'boot-later')
    const keyId = String((machine.db.query('SELECT id FROM keys').get() as { id: string }).id)
    const settleAt = (id: string, days: number): unknown =>
      machine.askAll(holdTask(id, keyId, usd('0.01')), settleTask(id, { input: 1 }, { now: NOW + days * DAY_MS }))
    settleAt('req_ahead', 90)
    settleAt('req_before', 29)
    settleAt('req_in', 30)
    settleAt('req_ahead_again', 90)
    settleAt('req_in_too', 30)
    machine.close()
    const day = new Date(NOW + 30 * DAY_MS).toISOString().slice(0, 10)
    const whole = objects(await statement())
    const text = await statement('--from', day, '--to', day)
    const [head, ...rest] = objects(text)
    expect(rest.slice(0, -2).map(({ id }) => id)).toEqual(['req_in', 'req_ahead_again', 'req_in_too'])
    const credits = BigInt(String(whole.at(-2)?.['closing_balance_picos']))
    expect(head?.['opening_balance_picos']).toBe(String(credits + 3n * 3_000_000n))
    expect(rest.at(-2)?.['closing_balance_picos']).toBe(String(credits))
    expect(head?.['previous']).toBe(whole.find(({ id }) => id === 'req_before')?.['hash'])
    expect(await check(text)).toMatchObject({ code: 0 })
  })

  test('is signed by a key that is made once, beside the ledger, its owner’s only', async () => {
    const keys = [await statement(), await statement()].map((text) => objects(text)[0]?.['public_key'])
    expect(keys[0]).toBe(keys[1])
    const path = `${place.ledgerPath}.statement-key`
    expect(existsSync(path)).toBeTrue()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await check(await statement(), '--key', String(keys[0]))).toMatchObject({ code: 0 })
    expect(await check(await statement(), '--key', 'another')).toMatchObject({ code: 1, out: expect.stringContaining('another key') })
  })

  test('is checked by the script of the guide, without anything of ours', async () => {
    const guide = readFileSync(join(import.meta.dir, '../../src/docs/guide/statements.md'), 'utf8')
    writeFileSync(join(place.folder, 'check.mjs'), /```js\n([\s\S]*?)```/.exec(guide)?.[1] ?? '')
    const run = (text: string) => {
      writeFileSync(join(place.folder, 'statement.jsonl'), text)
      return Bun.spawnSync([process.execPath, 'check.mjs', 'statement.jsonl'], { cwd: place.folder }).stdout.toString()
    }
    const text = await statement('--from', '2026-11-22')
    expect(run(text)).toStartWith('in order: 5 rows, key MCow')
    expect(run(text.replace('"input":13,', '"input":31,'))).toBe(
      'req_3: not what its hash says\nreq_3: another price\nthe signature is not that of the key\n',
    )
  })

  test('of receipts of both versions of the chain is in order, for us and for the script of the guide, and each row is bound to its version', async () => {
    const { id } = await place.json<{ id: string }>('keys', 'show', 'app')
    const machine = openMachine(place.ledgerPath, 'boot-tags')
    for (const [requestId, more] of [
      ['req_tagged', { tag: 'team:a' }],
      ['req_plain', {}],
      ['req_other', { tag: 'team:b' }],
    ] as const) {
      machine.ask(holdTask(requestId, id, usd('0.01'), more))
      machine.ask(settleTask(requestId, { input: 7, output: 3 }, { now: NOW + 6 * DAY_MS }))
    }
    machine.close()
    const text = await statement()
    const receipts = objects(text).filter(({ kind }) => kind === 'receipt')
    expect(receipts.map(({ id: requestId, v, tag }) => [requestId, v, tag])).toEqual([
      ...[0, 1, 2, 3, 4, 5].map((n) => [`req_${n}`, 1, undefined]),
      ['req_tagged', 2, 'team:a'],
      ['req_plain', 1, undefined],
      ['req_other', 2, 'team:b'],
    ])
    expect((await check(text)).code).toBe(0)
    expect((await place.run('verify')).code).toBe(0)
    const guide = readFileSync(join(import.meta.dir, '../../src/docs/guide/statements.md'), 'utf8')
    writeFileSync(join(place.folder, 'check.mjs'), /```js\n([\s\S]*?)```/.exec(guide)?.[1] ?? '')
    const script = Bun.spawnSync([process.execPath, 'check.mjs', 'statement.jsonl'], { cwd: place.folder }).stdout.toString()
    expect(script).toStartWith('in order: 10 rows')
    for (const [was, is] of [
      ['"tag":"team:a"', '"tag":"team:b"'],
      [',"tag":"team:b"', ''],
    ] as const) {
      expect(text).toContain(was)
      expect((await check(text.replace(was, is))).code).toBe(1)
    }
    // The ledger goes on from a statement of version 1 rows alone, and from one that has both.
    writeFileSync(join(place.folder, 'mixed.jsonl'), text)
    expect((await place.run('verify', '--against', 'mixed.jsonl')).code).toBe(0)
  })

  test('is refused for what is no account or no time', async () => {
    expect(await place.run('statement', 'nobody')).toMatchObject({ code: 2 })
    expect(await place.run('statement', 'app', '--from', 'yesterday')).toMatchObject({ code: 2 })
    expect(await place.run('verify-statement', 'absent.jsonl')).toMatchObject({ code: 2 })
  })
})

describe('verify --against', () => {
  beforeEach(async () => {
    writeFileSync(join(place.folder, 'earlier.jsonl'), await statement('--from', '2026-11-22', '--to', '2026-11-23'))
  })
  const against = () => place.run('verify', '--against', 'earlier.jsonl')

  test('is 0 while the ledger goes on from there', async () => {
    const machine = openMachine(place.ledgerPath, 'boot-later')
    const keyId = String((machine.db.query('SELECT id FROM keys').get() as { id: string }).id)
    machine.ask(holdTask('req_later', keyId, usd('0.01')))
    machine.ask(settleTask('req_later', { input: 1 }, { now: NOW + 9 * DAY_MS }))
    machine.close()
    expect(await against()).toMatchObject({ code: 0 })
  })

  test('names the row of a chain that was written anew with all its hashes and sums', async () => {
    const db = new Database(place.ledgerPath, { safeIntegers: true })
    for (const trigger of ['receipts_no_update', 'receipts_exact_price']) db.run(`DROP TRIGGER ${trigger}`)
    db.run("UPDATE receipts SET upstream_message_id = 'msg_forged' WHERE request_id = 'req_2'")
    let previous: string = NO_HASH
    for (const { seq, text } of [...new ChainRows(db).ofAccount(1, [{ lane: 0, first: 1, last: Number.MAX_SAFE_INTEGER }])].filter(
      (row) => row !== undefined,
    )) {
      const hash = nextHash(previous, text)
      previous = hash.toString('hex')
      db.query('UPDATE receipts SET hash = ? WHERE seq = ?').run(hash, seq)
    }
    db.query('UPDATE accounts SET chain_hash = ?').run(Buffer.from(previous, 'hex'))
    const triggers = readFileSync(join(import.meta.dir, '../../db/migrations/0002_init.sql'), 'utf8')
    for (const [text] of triggers.matchAll(/CREATE TRIGGER receipts_(no_update|exact_price) [\s\S]*?END;/g)) db.run(text.slice(0, -1))
    db.close()
    expect(await place.run('verify')).toMatchObject({ code: 0 })
    const { code, out } = await against()
    expect(code).toBe(1)
    expect(out).toContain('req_2')
    expect(out).not.toContain('req_1')
  })

  test('refuses what is no sound statement of this ledger', async () => {
    writeFileSync(join(place.folder, 'earlier.jsonl'), 'nonsense\n')
    expect(await against()).toMatchObject({ code: 2 })
    expect(await place.run('verify', '--against', 'absent.jsonl')).toMatchObject({ code: 2 })
  })
})
