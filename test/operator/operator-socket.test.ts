/**
 * Operations through a running gateway's socket: the same as on the file, for its owner only, and nothing else gets in.
 * Rules: ledger.md "One writer"; operator.md "Socket".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { CHAT_STATES, type Operation } from '../../src/ledger/operation.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { holdsThroughSockets, isGatewayRunning, operateThroughSocket } from '../../src/operator/ask-gateways.ts'
import { askLine } from '../../src/operator/line-socket.ts'
import { type HoldsQuery, readOrder, readResult, writeMessage } from '../../src/operator/message-json.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
import { NOW, Workplace } from '../cli/run.ts'
import { ACT, holdRequest, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

const heldAt = (path: string, query: HoldsQuery) => holdsThroughSockets({ kind: 'sqlite', path }, query)

async function openAsGateway(): Promise<Ledger> {
  const opened = await openLedger({ path: place.ledgerPath, create: true, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  return opened.ledger
}

describe('beside a running gateway', () => {
  let ledger: Ledger
  let socket: { close(): void }
  beforeEach(async () => {
    ledger = await openAsGateway()
    socket = listenOnOperatorSocket(socketPathOf(place.ledgerPath), ledger)
  })
  afterEach(async () => {
    socket.close()
    await ledger.close()
  })

  test('commands change its ledger, and their secret is the one that it knows', async () => {
    const made = await place.json<{ id: string; key: string }>('keys', 'create', '--name', 'app', '--balance', '25')
    const secretHash = new Uint8Array(new Bun.CryptoHasher('sha256').update(made.key).digest())
    expect(await ledger.findKey(secretHash)).toMatchObject({ id: made.id, name: 'app' })
    expect(await place.json('keys', 'limit', 'app', '3')).toMatchObject({ balance_usd: 3 })
    expect(ledger.keyBalanceOf(made.id)).toMatchObject({ limitPicos: picos(3_000_000_000_000n), account: { balancePicos: usd('25') } })
    const rotated = await place.json<{ key: string }>('keys', 'rotate', 'app')
    expect(rotated.key).not.toBe(made.key)
    expect(await place.run('keys', 'create', '--name', 'app')).toMatchObject({ code: 2, out: '' })
    expect(await place.run('doctor')).toMatchObject({ code: 0, out: expect.stringContaining('one is running') })
  })

  test('doctor says that the gateway refuses all requests when its ledger was overwritten', async () => {
    await place.json('accounts', 'create', 'acme')
    expect(await place.run('doctor')).toMatchObject({ code: 0 })
    Bun.spawnSync(['truncate', '-s', '+4096', place.ledgerPath])
    await until(() => !ledger.isWritable(), 'the ledger is refused')
    expect(await place.run('doctor')).toMatchObject({ code: 1, out: expect.stringContaining('and refuses all requests') })
  })

  test('the socket is for its owner only', () => {
    expect(statSync(socketPathOf(place.ledgerPath)).mode & 0o777).toBe(0o600)
  })

  test('what is not exactly one operation is refused and changes nothing', async () => {
    const good = { kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: NOW }
    const ask = (line: string) => askLine(socketPathOf(place.ledgerPath), line, 5_000)
    for (const operation of [
      null,
      { kind: 'dropTables' },
      { ...good, now: 'now' },
      { ...good, extra: 1 },
      { ...good, kind: 'credit', creditKind: 'top-up', creditId: 't', amountPicos: '5', ref: '' },
      { ...good, kind: 'credit', creditKind: 'gift', creditId: 't', amountPicos: { picos: '5' }, ref: '' },
      { ...good, name: 'x'.repeat(300) },
    ]) {
      const refused = JSON.stringify({ result: 'refused', problem: 'the operation has an unknown form' })
      expect(await ask(`operate ${JSON.stringify({ operation, act: ACT })}`), JSON.stringify(operation)).toEqual({ text: refused })
      expect(await ask(`operate ${JSON.stringify({ operation })}`)).toEqual({ text: refused })
    }
    expect(await ask('operate not json')).toMatchObject({ text: expect.stringContaining('unknown form') })
    for (const line of ['', 'GET / HTTP/1.1', 'drop', 'holds {}', 'holds {"limit":0}']) expect(await ask(line)).toEqual({ text: 'unknown' })
    expect(await ask('x'.repeat(33 * 1024 * 1024))).toBe('silent')
    expect((await place.json<{ data: unknown[] }>('accounts', 'list')).data).toEqual([])
  })

  test('the actor is who the kernel says that is calling, whatever the message claims, and the address says by which way', async () => {
    const operation: Operation = { kind: 'createAccount', accountId: 'acc_1', name: 'acme', topUp: null, now: NOW }
    const claim = { actor: 'os:somebody', address: '10.1.2.3', reason: 'a new customer' }
    expect(await operateThroughSocket(place.ledgerPath, operation, claim)).toEqual({ result: 'done' })
    const user = Bun.spawnSync(['id', '-un']).stdout.toString().trim()
    const db = new Database(place.ledgerPath, { readonly: true })
    const row = db.query('SELECT actor, address, reason FROM audit_log').get()
    db.close()
    const expected = process.platform === 'linux' ? expect.stringMatching(new RegExp(`^os:${user}( \\(login .+\\))?$`)) : 'os:somebody'
    expect(row).toEqual({ actor: expected, address: 'socket', reason: 'a new customer' })
  })

  test('holds are what is held now, oldest first, a page after another, of one key or account', async () => {
    const one = await place.json<{ id: string; account_id: string }>('keys', 'create', '--balance', '100')
    const two = await place.json<{ id: string }>('keys', 'create', '--balance', '100')
    for (const [index, keyId] of [one.id, two.id, one.id, two.id, one.id].entries())
      expect(await ledger.hold(holdRequest(`req_${index}`, keyId, picos(1_000_001n)))).toBe('held')
    const all = { keyId: null, accountId: null, after: null, limit: 10 }
    const idsOf = async (query: Partial<HoldsQuery>) => {
      const { holds } = await heldAt(place.ledgerPath, { ...all, ...query })
      return holds.map(({ requestId }) => requestId)
    }
    expect(await idsOf({})).toEqual(['req_0', 'req_1', 'req_2', 'req_3', 'req_4'])
    expect(await idsOf({ limit: 2 })).toEqual(['req_0', 'req_1'])
    expect(await idsOf({ limit: 2, after: 'req_1' })).toEqual(['req_2', 'req_3'])
    expect(await idsOf({ keyId: two.id })).toEqual(['req_1', 'req_3'])
    expect(await idsOf({ accountId: one.account_id })).toEqual(['req_0', 'req_2', 'req_4'])
    expect(await heldAt(place.ledgerPath, { ...all, limit: 1 })).toEqual({ holds: ledger.holds().slice(0, 1), count: 1, silent: [] })
    expect(await heldAt(`${place.ledgerPath}.other`, all)).toEqual({ holds: [], count: 0, silent: [] })
  })
})

test('a ledger that is held by a process without a socket is locked: 3, nothing changed', async () => {
  const ledger = await openAsGateway()
  const { code, out, err } = await place.run('accounts', 'create', 'acme')
  expect({ code, out }).toEqual({ code: 3, out: '' })
  expect(err).toMatch(/^tollgate: another process holds the ledger.*\n$/)
  await ledger.close()
  expect((await place.json<{ data: unknown[] }>('accounts', 'list')).data).toEqual([])
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
  socket.close()
  await ledger.close()
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
  writeFileSync(path, 'no socket')
  expect(await operateThroughSocket(place.ledgerPath, { kind: 'setAccountActive', accountId: 'a', isActive: true, now: 1 }, ACT)).toBe(
    'absent',
  )
})

test('a socket file that is removed under a gateway is there again soon, and goes with its end', async () => {
  const path = socketPathOf(place.ledgerPath)
  const ledger = await openAsGateway()
  const socket = listenOnOperatorSocket(path, ledger)
  for (let round = 0; round < 2; round++) {
    unlinkSync(path)
    await until(() => isGatewayRunning(place.ledgerPath), 'the socket is made again')
    expect(statSync(path).mode & 0o777).toBe(0o600)
  }
  socket.close()
  await ledger.close()
  expect(readdirSync(dirname(path)).filter((name) => statSync(join(dirname(path), name)).isSocket())).toEqual([])
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
  const rate = orNull(fc.integer({ min: 1, max: 1_000_000_000 }))
  const rates = fc.record({ requestsPerMinute: rate, inputTokensPerMinute: rate, outputTokensPerMinute: rate, concurrentRequests: rate })
  const topUp = fc.record({ creditId: id, amountPicos: amount, ref: name })
  const creditKind = fc.constantFrom('top-up' as const, 'refund' as const, 'correction' as const)
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    fc.record({ kind: fc.constant('createAccount'), accountId: id, name, topUp: orNull(topUp), now: time }),
    fc.record({ kind: fc.constant('credit'), creditKind, creditId: id, accountId: id, amountPicos: amount, ref: name, now: time }),
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
      topUp: orNull(topUp),
      now: time,
    }),
    fc.record({ kind: fc.constant('setKeyActive'), keyId: id, isActive: fc.boolean(), now: time }),
    fc.record({ kind: fc.constant('setKeyLimit'), keyId: id, limitPicos: orNull(amount), now: time }),
    fc.record({ kind: fc.constant('setKeyRates'), keyId: id, rates: orNull(rates), now: time }),
    fc.record({ kind: fc.constant('renameAccount'), accountId: id, name: fc.string(), now: time }),
    fc.record({ kind: fc.constant('renameKey'), keyId: id, name: fc.string(), now: time }),
    fc.record({ kind: fc.constant('setKeyExpiry'), keyId: id, expiresAt: orNull(time), now: time }),
    fc.record({
      kind: fc.constant('createCodes'),
      batchId: id,
      name,
      amountPicos: amount,
      expiresAt: orNull(time),
      codes: fc.array(fc.record({ codeHash: secretHash, display: name }), { maxLength: 3 }),
      now: time,
    }),
    fc.record({
      kind: fc.constant('setAccess'),
      email: fc.string({ maxLength: 256 }),
      accountId: fc.option(id),
      access: fc.constantFrom('owner', 'reader', 'operator', 'none'),
      now: time,
    }),
    fc.record({
      kind: fc.constant('giveLink'),
      email: fc.string({ maxLength: 256 }),
      link: fc.constantFrom('password', 'sign-in'),
      listener: fc.constantFrom('cabinet', 'console'),
      now: time,
    }),
    fc.record({
      kind: fc.constant('setChat'),
      email: fc.string({ maxLength: 256 }),
      accountId: id,
      chat: id,
      state: fc.constantFrom(...CHAT_STATES),
      now: time,
    }),
    fc.record({ kind: fc.constant('disableCodes'), batchId: id, now: time }),
    fc.record({ kind: fc.constant('redeemCode'), codeHash: secretHash, accountId: id, creditId: id, now: time }),
    fc.record({ kind: fc.constant('rotateKey'), keyId: id, secretHash, display: name, oldValidUntil: time, now: time }),
    fc.record({
      kind: fc.constant('createToken'),
      tokenId: id,
      tokenHash: secretHash,
      display: name,
      name,
      scope: fc.constantFrom('read', 'keys', 'money', 'all'),
      accountIds: fc.array(id, { maxLength: 20 }),
      expiresAt: time,
      now: time,
    }),
    fc.record({ kind: fc.constant('revokeToken'), tokenId: id, now: time }),
  )
  const act = fc.record({ actor: name, address: name, reason: name })
  const order = fc.record({ operation, act })
  fc.assert(fc.property(order, (sent) => expect(readOrder(writeMessage(sent))).toEqual(sent)))
})

test("any result survives the wire, a code's amount too", () => {
  const text = fc.string({ minLength: 1, maxLength: 64 })
  const amount = fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000n }).map(picos)
  const done = fc.record(
    { result: fc.constant('done' as const), earlier: fc.record({ creditId: text, accountId: text }), redeemedPicos: amount },
    { requiredKeys: ['result'] },
  )
  const refused = fc.record({ result: fc.constant('refused' as const), problem: fc.string() })
  const result = fc.oneof(done, refused, fc.constant({ result: 'unavailable' as const }))
  fc.assert(fc.property(result, (sent) => expect(readResult(writeMessage(sent))).toEqual(sent)))
})
