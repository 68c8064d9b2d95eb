/**
 * Operations through a running gateway's socket: the same as on the file, for its owner only, and nothing else gets in.
 * Rules: ledger.md "One writer"; operator.md "Socket".
 */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/open-ledger.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import { readOperation, writeOperation } from '../../src/operator/operation-json.ts'
import { isGatewayRunning, listenOnOperatorSocket, operateThroughSocket, socketPathOf } from '../../src/operator/operator-socket.ts'
import { NOW, startThread, Workplace } from '../cli/run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

async function openAsGateway(): Promise<Ledger> {
  const opened = await openLedger({ path: place.ledgerPath, create: true, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  return opened.ledger
}

describe('beside a running gateway', () => {
  let ledger: Ledger
  let socket: { close(): Promise<void> }
  beforeEach(async () => {
    ledger = await openAsGateway()
    socket = listenOnOperatorSocket(socketPathOf(place.ledgerPath), ledger)
  })
  afterEach(async () => {
    await socket.close()
    await ledger.close()
  })

  test('commands change its ledger, and their secret is the one that it knows', async () => {
    const made = await place.json<{ id: string; key: string }>('keys', 'create', '--name', 'app', '--balance', '25')
    const secretHash = new Uint8Array(new Bun.CryptoHasher('sha256').update(made.key).digest())
    expect(await ledger.findKey(secretHash)).toMatchObject({ id: made.id, name: 'app' })
    expect(await place.json('keys', 'limit', 'app', '3')).toMatchObject({ balance_usd: 3 })
    expect(await ledger.balanceOf(made.id)).toMatchObject({ availablePicos: picos(3_000_000_000_000n) })
    const rotated = await place.json<{ key: string }>('keys', 'rotate', 'app')
    expect(rotated.key).not.toBe(made.key)
    expect(await place.run('keys', 'create', '--name', 'app')).toMatchObject({ code: 2, out: '' })
    expect(await place.run('doctor')).toMatchObject({ code: 0, out: expect.stringContaining('one is running') })
  })

  test('the socket is for its owner only', () => {
    expect(statSync(socketPathOf(place.ledgerPath)).mode & 0o777).toBe(0o600)
  })

  test('what is not exactly one operation is refused and changes nothing', async () => {
    const good = { kind: 'createAccount', accountId: 'acc_1', name: 'acme', now: NOW }
    const unix = socketPathOf(place.ledgerPath)
    for (const body of [
      '',
      '[]',
      '{"kind":"dropTables"}',
      JSON.stringify({ ...good, now: 'now' }),
      JSON.stringify({ ...good, extra: 1 }),
      JSON.stringify({ ...good, kind: 'topUp', topUpId: 't', amountPicos: '5', ref: '' }),
      JSON.stringify({ ...good, name: 'x'.repeat(300) }),
    ]) {
      const response = await fetch('http://localhost/operate', { unix, method: 'POST', body })
      expect(await response.json(), body).toEqual({ result: 'refused', problem: 'the operation has an unknown form' })
    }
    expect((await fetch('http://localhost/other', { unix, method: 'POST' })).status).toBe(404)
    expect(await place.json<{ data: unknown[] }>('accounts', 'list')).toEqual({ data: [] })
  })
})

test('a ledger that is held by a process without a socket is locked: 3, nothing changed', async () => {
  const ledger = await openAsGateway()
  const { code, out, err } = await place.run('accounts', 'create', 'acme')
  expect({ code, out }).toEqual({ code: 3, out: '' })
  expect(err).toMatch(/^tollgate: another process holds the ledger.*\n$/)
  await ledger.close()
  expect(await place.json<{ data: unknown[] }>('accounts', 'list')).toEqual({ data: [] })
  expect(await place.json('accounts', 'create', 'acme')).toMatchObject({ name: 'acme' })
})

test('a socket file that a dead gateway left is no gateway, and the next one takes its place', async () => {
  const path = socketPathOf(place.ledgerPath)
  const ledger = await openAsGateway()
  const dead = Bun.spawnSync([
    process.execPath,
    '-e',
    `Bun.serve({ unix: ${JSON.stringify(path)}, fetch: () => new Response() }); process.kill(process.pid, 'SIGKILL')`,
  ])
  expect(dead.signalCode).toBe('SIGKILL')
  expect(statSync(path).isSocket()).toBeTrue()
  expect(await isGatewayRunning(place.ledgerPath)).toBeFalse()
  const socket = listenOnOperatorSocket(path, ledger)
  expect(await isGatewayRunning(place.ledgerPath)).toBeTrue()
  await socket.close()
  await ledger.close()
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
  writeFileSync(path, 'no socket')
  expect(await operateThroughSocket(place.ledgerPath, { kind: 'setAccountActive', accountId: 'a', isActive: true, now: 1 })).toBe('absent')
})

test('the end of a gateway takes no other’s socket along', async () => {
  const path = socketPathOf(place.ledgerPath)
  const ledger = await openAsGateway()
  const first = listenOnOperatorSocket(path, ledger)
  const second = listenOnOperatorSocket(path, ledger)
  await first.close()
  expect(await isGatewayRunning(place.ledgerPath)).toBeTrue()
  await second.close()
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
  await ledger.close()
})

test('a path that is too long for a socket is hashed into the temporary folder', () => {
  const long = join('/', 'x'.repeat(120), 'tollgate.db')
  expect(dirname(socketPathOf(long))).toBe(tmpdir())
  expect(socketPathOf(long)).not.toBe(socketPathOf(`${long}2`))
  expect(socketPathOf('/srv/tollgate.db')).toBe('/srv/tollgate.db.sock')
})

test('any operation survives the wire to the last picodollar and byte', () => {
  const id = fc.string({ minLength: 1, maxLength: 64 })
  const name = fc.string({ maxLength: 200 })
  const amount = fc.bigInt({ min: -9_000_000_000_000_000_000n, max: 9_000_000_000_000_000_000n }).map(picos)
  const secretHash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const time = fc.maxSafeNat()
  const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null })
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    fc.record({ kind: fc.constant('createAccount'), accountId: id, name, now: time }),
    fc.record({ kind: fc.constant('topUp'), topUpId: id, accountId: id, amountPicos: amount, ref: name, now: time }),
    fc.record({ kind: fc.constant('setAccountActive'), accountId: id, isActive: fc.boolean(), now: time }),
    fc.record({
      kind: fc.constant('createKey'),
      keyId: id,
      secretHash,
      display: name,
      name,
      accountId: orNull(id),
      ownAccountId: id,
      plan: name,
      limitPicos: orNull(amount),
      expiresAt: orNull(time),
      topUp: orNull(fc.record({ topUpId: id, amountPicos: amount, ref: name })),
      now: time,
    }),
    fc.record({ kind: fc.constant('setKeyActive'), keyId: id, isActive: fc.boolean(), now: time }),
    fc.record({ kind: fc.constant('setKeyLimit'), keyId: id, limitPicos: orNull(amount), now: time }),
    fc.record({ kind: fc.constant('setKeyExpiry'), keyId: id, expiresAt: orNull(time), now: time }),
    fc.record({ kind: fc.constant('rotateKey'), keyId: id, secretHash, display: name, oldValidUntil: time, now: time }),
  )
  fc.assert(fc.property(operation, (sent) => expect(readOperation(writeOperation(sent))).toEqual(sent)))
})
