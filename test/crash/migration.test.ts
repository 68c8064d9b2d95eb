/**
 * Protects ledger.md "Migrations" as an operator meets it: the ledger of each released program under today's binary. Commands say what to do, `serve` does it, and every
 * key, balance, code and statement of before is good; killed at its start, it is good with the next.
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, rmSync } from 'node:fs'
import { schemaVersionOf } from '../../db/open.ts'
import { postgresTest } from '../support/postgres.ts'
import { type Left, leftBy, RELEASES, releasedDatabase, releasedFile, statementKeyOf, statementOf } from '../support/released.ts'
import { type GatewayProcess, Place } from './process.ts'

let place: Place
beforeEach(() => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n')
})
afterEach(() => place.remove())

type Listed<T> = Readonly<{ data: readonly T[] }>

const refused = (schema: number) => ({
  code: 3,
  out: '',
  err: expect.stringMatching(
    new RegExp(
      `^tollgate: \\S.* has schema version ${schema}, of an older program; \`tollgate serve\` brings it to \\d+ when it starts\n$`,
    ),
  ),
})

async function expectRefusals(schema: number): Promise<void> {
  const reads = [['accounts', 'list'], ['keys', 'list'], ['receipts', 'list'], ['verify'], ['statement', 'Shop']]
  const writes = [
    ['keys', 'create'],
    ['accounts', 'top-up', 'Shop', '1'],
  ]
  for (const command of [...reads, ...writes]) expect([command, await place.run(...command)]).toEqual([command, refused(schema)])
  const doctor = await place.json<Listed<{ check: string; status: string }>>('doctor', '--no-network').catch((error: unknown) => error)
  expect(doctor).toMatchObject({ data: expect.arrayContaining([expect.objectContaining({ check: 'ledger', status: 'warning' })]) })
}

async function ask({ url }: GatewayProcess, key: string): Promise<string> {
  const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 50, messages: [{ role: 'user', content: '[sim say=still here]' }] })
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body })
  return `${answer.status} ${await answer.text()}`
}

/** What the ledger said under the program that made it, but for what was in flight then. */
async function expectAll(left: Left, statement: string): Promise<void> {
  const accounts = await place.json<Listed<{ name: string; balance_usd_exact: string }>>('accounts', 'list')
  expect(Object.fromEntries(accounts.data.map((one) => [one.name, one.balance_usd_exact]))).toEqual(left.accounts)
  const receipts = await place.json<Listed<{ request_id: string; cost_usd_exact: string }>>('receipts', 'list')
  const costs = Object.fromEntries(receipts.data.map((one) => [one.request_id, one.cost_usd_exact]))
  expect(costs).toMatchObject(left.receipts)
  expect(await place.run('verify', '--against', statement)).toMatchObject({ code: 0 })
}

describe.each(RELEASES)('%s', (version, schema) => {
  test('a file is migrated by serve alone, with a copy beside it from which one can go back', async () => {
    const left = leftBy(version, 'sqlite')
    const path = releasedFile(version, place.ledgerPath)
    await expectRefusals(schema)
    const gateway = await place.serve()
    expect(gateway.err()).toContain('"the ledger is of an older version and is migrated"'.slice(1, -1))
    await expectAll(left, statementOf(version, 'sqlite'))
    expect(await ask(gateway, left.key)).toMatch(/^200 .*still here/)
    expect(await place.run('codes', 'redeem', left.code, '--account', 'Shop')).toMatchObject({ code: 0 })
    gateway.signal('SIGTERM')
    await gateway.exited
    await place.verify()
    const backup = [...new Bun.Glob('tollgate.db.before-*').scanSync(`${place.folder}/data`)]
    expect(backup).toHaveLength(1)
    const copy = `${place.folder}/data/${backup[0]}`
    const db = new Database(copy, { readonly: true })
    expect(schemaVersionOf(db)).toBe(schema)
    db.close()
    // The copy itself can be put back by this program, too: a request in flight then is waived by the next start.
    expect(await place.run('restore', copy)).toMatchObject({ code: 0 })
    const again = await place.serve()
    await expectAll(left, statementOf(version, 'sqlite'))
    again.signal('SIGTERM')
    await again.exited
    expect(existsSync(path)).toBeTrue()
    rmSync(copy)
  })

  postgresTest('a database is migrated by serve alone', async () => {
    const left = leftBy(version, 'postgres')
    const env = { LEDGER_URL: await releasedDatabase(version), STATEMENT_KEY: statementKeyOf(version) }
    await place.remove()
    place = new Place(undefined, env)
    place.write('tollgate.toml', '[operator]\nport = 0\n[ledger]\nurl_env = "LEDGER_URL"\nstatement_key_env = "STATEMENT_KEY"\n')
    await expectRefusals(schema)
    const gateway = await place.serve()
    expect(gateway.err()).toContain('on Postgres no backup is made')
    await expectAll(left, statementOf(version, 'postgres'))
    expect(await ask(gateway, left.key)).toMatch(/^200 .*still here/)
    expect(await place.run('codes', 'redeem', left.code, '--account', 'Shop')).toMatchObject({ code: 0 })
    gateway.signal('SIGTERM')
    await gateway.exited
    await place.verify()
  })
})
