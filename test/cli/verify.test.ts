/** `tollgate verify`: in order is 0, a row that differs is 1 with both figures. Rules: money.md "Verify"; operator.md "Commands". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(async () => {
  place = new Workplace()
  await place.json('keys', 'create', '--name', 'app', '--balance', '25')
})
afterEach(() => place.remove())

test('verify is 0 while every row agrees, and 1 with the row that does not', async () => {
  expect(await place.json('verify')).toEqual({ ok: true, data: [] })
  const db = new Database(place.ledgerPath)
  db.run('UPDATE accounts SET credited_picos = credited_picos + 1, balance_picos = balance_picos + 1')
  db.close()
  const { code, out } = await place.run('verify', '--json')
  expect(code).toBe(1)
  const found = JSON.parse(out) as { ok: boolean; data: unknown[] }
  expect(found.ok).toBeFalse()
  expect(found.data).not.toEqual([])
  expect(await place.run('verify')).toMatchObject({ code: 1, out: expect.stringContaining('25') })
  expect(await place.run('doctor')).toMatchObject({ code: 1, out: expect.stringContaining('tollgate verify') })
})

test('people read a sentence, or a line a row that differs', async () => {
  expect(await place.run('verify')).toEqual({
    code: 0,
    out: 'The ledger is in order: every balance, cost and sum is what its rows say.\n',
    err: '',
  })
  const db = new Database(place.ledgerPath)
  db.run('UPDATE accounts SET credited_picos = credited_picos + 1, balance_picos = balance_picos + 1')
  db.close()
  const { code, out, err } = await place.run('verify')
  expect([code, err]).toEqual([1, ''])
  expect(out).toMatch(/^RULE +WHERE +STORED +RECOMPUTED\n.*acc_.*25000000000001 +25000000000000$/m)
})
