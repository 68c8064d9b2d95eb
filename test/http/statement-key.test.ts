/** A customer learns by what its statements are signed, and nobody learns what signs them. Rules: ledger.md "Statements". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { statementKeyOf } from '../../src/ledger/chain/statement-key.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

const PATH = '/v1/dashboard/statement-key'

let gateway: TestGateway
let secret: string
let keyPath: string
beforeAll(async () => {
  gateway = await startTestGateway()
  secret = await gateway.createKey()
  keyPath = `${gateway.ledgerPath}.statement-key`
})
afterAll(() => gateway.stop())

const ask = (headers: Record<string, string> = { authorization: `Bearer ${secret}` }): Promise<Response> =>
  fetch(`${gateway.url}${PATH}`, { headers })

test('two that ask first at the same time are told one key, which is the one that statements are signed with', async () => {
  const [first, second] = await Promise.all([ask(), ask()])
  const document = await first?.json()
  expect(document).toEqual({ object: 'statement_key', algorithm: 'ed25519', public_key: statementKeyOf(gateway.ledgerPath).publicKey })
  expect(await second?.json()).toEqual(document)
  expect(await (await ask()).json()).toEqual(document)
})

test('the private half stays with its owner, and no part of it is told', async () => {
  const text = await (await ask()).text()
  const secretLine = readFileSync(keyPath, 'utf8').split('\n')[1] ?? ''
  expect(secretLine).toHaveLength(64)
  expect(text).not.toContain(secretLine.slice(-40))
  expect(statSync(keyPath).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(keyPath)).filter((name) => name.includes('.statement-key'))).toEqual(['ledger.db.statement-key'])
})

test('it is for those with a key, sent as the dashboard takes it', async () => {
  expect((await ask({})).status).toBe(401)
  expect((await ask({ 'x-api-key': secret })).status).toBe(401)
})

test('a key that cannot be read is 503 and not another key; the usage is read on', async () => {
  const kept = readFileSync(keyPath)
  writeFileSync(keyPath, 'no key')
  try {
    expect((await ask()).status).toBe(503)
    expect(readFileSync(keyPath, 'utf8')).toBe('no key')
  } finally {
    writeFileSync(keyPath, kept)
  }
  expect((await ask()).status).toBe(200)
  const usage = await fetch(`${gateway.url}/v1/dashboard/usage/requests`, { headers: { authorization: `Bearer ${secret}` } })
  expect(usage.status).toBe(200)
})
