/** An account of several lanes: its statement is checked by itself and against the ledger, and what is changed is named, whichever lane it is in. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { generateKeyPairSync, sign } from 'node:crypto'
import { statementFindings } from '../../src/ledger/chain/against-statement.ts'
import { NO_HASH, nextHash } from '../../src/ledger/chain/chain.ts'
import { ChainRows } from '../../src/ledger/chain/chain-rows.ts'
import { StatementCheck, type StatementFinding } from '../../src/ledger/chain/check-statement.ts'
import { statementLines } from '../../src/ledger/chain/statement.ts'
import type { StatementKey } from '../../src/ledger/chain/statement-key.ts'
import { chainFindings } from '../../src/ledger/chain/verify-chain.ts'
import { type Machine, makePath, NOW } from '../support/ledger.ts'
import { randomFrom, SEED } from '../support/seed.ts'
import { writeVaried } from '../support/varied-ledger.ts'

const LANES = 3
const DAY_MS = 86_400_000
const pair = generateKeyPairSync('ed25519')
const KEY: StatementKey = {
  publicKey: pair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  sign: (digest) => sign(null, digest, pair.privateKey).toString('base64'),
}

let machine: Machine
beforeEach(() => {
  machine = writeVaried(makePath(), randomFrom(SEED), 60)
  spread(machine)
})
afterEach(() => machine.close())

/** As if three nodes had written what one did: rows keep their order in a lane. */
function spread({ db }: Machine): void {
  for (const trigger of ['receipts_no_update', 'receipts_exact_price', 'credits_no_update']) db.run(`DROP TRIGGER ${trigger}`)
  db.run('DROP VIEW chain_heads')
  db.run('CREATE TABLE chain_heads (account_number INTEGER, lane INTEGER, chain_count INTEGER, chain_hash BLOB)')
  const rows = db
    .query<{ table: string; id: string; account: bigint }, []>(
      `SELECT * FROM (SELECT 'receipts' AS "table", request_id AS id, account_number AS account, seq FROM receipts
       UNION ALL SELECT 'credits', id, account_number, seq FROM credits) ORDER BY account, seq`,
    )
    .all()
  const heads = new Map<string, { count: number; hash: string }>()
  rows.forEach(({ table, id, account }, index) => {
    const lane = index % LANES
    const head = heads.get(`${account}:${lane}`) ?? { count: 0, hash: NO_HASH }
    const seq = head.count + 1
    db.query(`UPDATE ${table} SET lane = ?, seq = ? WHERE ${table === 'credits' ? 'id' : 'request_id'} = ?`).run(lane, seq + 1_000_000, id)
    heads.set(`${account}:${lane}`, { ...head, count: seq })
  })
  db.run('UPDATE receipts SET seq = seq - 1000000')
  db.run('UPDATE credits SET seq = seq - 1000000')
  for (const [place, { count }] of heads) {
    const [account = 0, lane = 0] = place.split(':').map(Number)
    let hash: string = NO_HASH
    for (const row of new ChainRows(db).ofAccount(account, [{ lane, first: 1, last: count }])) {
      if (row === undefined) continue
      const next = nextHash(hash, row.text)
      hash = next.toString('hex')
      db.query(`UPDATE ${row.isCredit ? 'credits' : 'receipts'} SET hash = ? WHERE ${row.isCredit ? 'id' : 'request_id'} = ?`).run(
        next,
        row.id,
      )
    }
    db.query('INSERT INTO chain_heads VALUES (?, ?, ?, ?)').run(account, lane, count, Buffer.from(hash, 'hex'))
  }
}

const statement = (range = {}): readonly string[] => [...statementLines(machine.db, 'acc_a', range, KEY, NOW)]
const bytesOf = (lines: readonly string[]) => lines.map((line) => new TextEncoder().encode(line))

function checked(lines: readonly string[]): readonly StatementFinding[] {
  const check = new StatementCheck()
  for (const line of bytesOf(lines)) check.take(line)
  return check.end()
}

const headOf = (lines: readonly string[]) => JSON.parse(lines[0] ?? '')

test('it is sound, says where each lane begins and ends, and the ledger agrees', () => {
  expect(chainFindings(machine.db)).toEqual([])
  const lines = statement()
  const head = headOf(lines)
  expect([head.statement, head.previous, head.heads.length]).toEqual([2, undefined, LANES])
  expect(head.heads.map(({ previous }: { previous: string }) => previous)).toEqual(Array(LANES).fill(NO_HASH))
  expect(lines.length).toBe(3 + head.heads.reduce((sum: number, { count }: { count: number }) => sum + count, 0))
  expect(checked(lines)).toEqual([])
  expect(statementFindings(machine.db, () => bytesOf(lines))).toEqual([])
})

test('a part of the time goes on from each lane’s own row before it, and its balances fit', () => {
  const [whole, part] = [statement(), statement({ from: NOW + DAY_MS })]
  expect(checked(part)).toEqual([])
  expect(headOf(part).heads.some(({ previous }: { previous: string }) => previous !== NO_HASH)).toBe(true)
  expect(statementFindings(machine.db, () => bytesOf(part))).toEqual([])
  const rowsOf = (lines: readonly string[]) => lines.slice(1, -2).map((line) => JSON.parse(line))
  const isEarlier = (row: { lane: number; seq: number }) => rowsOf(part).every(({ lane, seq }) => lane !== row.lane || seq > row.seq)
  const amounts = rowsOf(whole)
    .filter(isEarlier)
    .map((row) => BigInt(row.amount_picos ?? -BigInt(row.cost_picos)))
  expect(headOf(part).opening_balance_picos).toBe(String(amounts.reduce((sum, amount) => sum + amount, 0n)))
})

test('a row that is left out, changed, moved to another lane or into no lane is named in the statement', () => {
  const lines = statement()
  const at = lines.findIndex((line, index) => index > 5 && line.includes('"kind":"receipt"') && line.includes('"lane":1'))
  const line = lines[at] ?? ''
  const id = JSON.parse(line).id
  const changed = (other: string | undefined) =>
    checked(lines.flatMap((one, index) => (index === at ? (other === undefined ? [] : [other]) : [one])))
  const named = (findings: readonly StatementFinding[]) => findings.map(({ where, problem }) => `${where} ${problem}`).join('\n')
  expect(named(changed(undefined))).toContain('is not what its hash says')
  expect(named(changed(line.replace(/"status":\d+/, '"status":299')))).toContain(`(${id}) is not what its hash says`)
  expect(named(changed(line.replace('"lane":1', '"lane":2')))).toContain(`(${id}) is not what its hash says`)
  expect(named(changed(line.replace('"lane":1', '"lane":7')))).toContain(
    `(${id}) is of lane 7, which the head of the statement does not name`,
  )
})

test('a lane that was cut at its end, or lost a row, is named by the ledger and against an earlier statement', () => {
  const lines = statement()
  const { db } = machine
  const [last] = db
    .query<{ id: string; seq: bigint; lane: bigint }, []>(
      'SELECT request_id AS id, seq, lane FROM receipts WHERE account_number = 1 ORDER BY number DESC LIMIT 1',
    )
    .all()
  db.run('DROP TRIGGER receipts_no_delete')
  db.query('DELETE FROM receipts WHERE request_id = ?').run(last?.id ?? '')
  const found = chainFindings(db).map(({ rule, subject }) => `${rule}: ${subject}`)
  const subject = last?.lane === 0n ? 'acc_a' : `acc_a, lane ${last?.lane}`
  expect(found).toEqual([`the chain of an account ends where its account says: ${subject}`])
  const against = statementFindings(db, () => bytesOf(lines))
  expect(against.map((one) => one.subject)).toContain(last?.id ?? '')
})

test('a lane without its end is named', () => {
  machine.db.run('DELETE FROM chain_heads WHERE account_number = 1 AND lane = 2')
  expect(chainFindings(machine.db).map(({ subject, stored }) => [subject, stored])).toEqual([['acc_a, lane 2', '0 rows']])
})
