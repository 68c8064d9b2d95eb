/**
 * Tokens of the operator's API in the ledger: a write of a token that does not live at its commit is none, and a write under an Idempotency-Key is done once, in the
 * transaction of its own rows. Rules: operator-api.md "Tokens", "Writes".
 */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { DAY_MS } from '../../src/core/utc.ts'
import type { Act, Once, Operation } from '../../src/ledger/operation.ts'
import { newToken } from '../../src/ledger/operations/token-writes.ts'
import { createKey, type Machine, NOW, openMachine, operateTask, sha256, usd } from '../support/ledger.ts'

const rows = (query: string) => machine.db.query<Record<string, unknown>, []>(query).all()
const operate = (operation: Operation, act?: Act) => machine.ask(operateTask(operation, act))
const token = (name: string, more: Partial<Parameters<typeof newToken>[0]> = {}) =>
  newToken({ tokenId: `tok_${name}`, name, scope: 'all', accountIds: [], expiresInDays: 90, ...more }, NOW)
const once = (key: string, request: string, expiresAt = NOW + DAY_MS): Once => ({
  headerHash: sha256(key),
  requestHash: sha256(request),
  expiresAt,
})
const by = (tokenId: string, under: Once | null = null): Act => ({
  actor: 'token:shop',
  address: '192.0.2.7',
  reason: '',
  by: { tokenId, once: under },
})
const topUp = (creditId: string, now = NOW): Operation => ({
  kind: 'credit',
  creditKind: 'top-up',
  creditId,
  accountId: 'acc_a',
  amountPicos: usd('5'),
  ref: '',
  now,
})
const DONE = { result: 'done' }

let machine: Machine
beforeEach(() => {
  machine = openMachine()
  expect(operate({ kind: 'createAccount', accountId: 'acc_a', name: 'a', topUp: null, now: NOW })).toEqual(DONE)
})
afterEach(() => {
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a token is made and revoked once, each with its line, and found by its hash alone', () => {
  const { operation, secret } = token('shop', { scope: 'keys', accountIds: ['acc_a', 'acc_a'] })
  expect(operate(operation)).toEqual(DONE)
  expect(operate(operation)).toEqual(DONE)
  const find = () => machine.ledger.apply([{ kind: 'findToken', tokenHash: sha256(secret) }])
  const record = {
    id: 'tok_shop',
    name: 'shop',
    scope: 'keys',
    accountIds: ['acc_a'],
    expiresAt: NOW + 90 * DAY_MS,
    revokedAt: null,
    lastUsedAt: null,
  }
  expect(find()).toMatchObject({ answers: [record] })
  expect(operate({ kind: 'noteTokenUse', tokenId: 'tok_shop', now: NOW + 5 })).toEqual(DONE)
  expect(operate({ kind: 'noteTokenUse', tokenId: 'tok_shop', now: NOW + 3 })).toEqual(DONE)
  expect(operate({ kind: 'revokeToken', tokenId: 'tok_shop', now: NOW + 7 })).toEqual(DONE)
  expect(operate({ kind: 'revokeToken', tokenId: 'tok_shop', now: NOW + 9 })).toEqual(DONE)
  expect(find()).toMatchObject({ answers: [{ ...record, revokedAt: NOW + 7, lastUsedAt: NOW + 5 }] })
  const ofTokens = rows("SELECT action, target, after FROM audit_log WHERE target = 'tok_shop' ORDER BY id")
  expect(ofTokens.map(({ action }) => action)).toEqual(['createToken', 'revokeToken'])
  expect(
    rows('SELECT after FROM audit_log')
      .map(({ after }) => after)
      .join(),
  ).not.toContain(secret.slice(5, 40))
})

test('a name means one token for ever; an account that is not there, and an end too far, are refused in words', () => {
  expect(operate(token('shop').operation)).toEqual(DONE)
  operate({ kind: 'revokeToken', tokenId: 'tok_shop', now: NOW })
  const refusal = (more: Parameters<typeof token>[1], name = 'other') => operate(token(name, more).operation)
  expect(refusal({ tokenId: 'tok_2' }, 'shop')).toMatchObject({ result: 'refused', problem: expect.stringContaining('exists or existed') })
  expect(refusal({ accountIds: ['acc_b'] })).toMatchObject({ result: 'refused', problem: 'there is no account acc_b' })
  expect(refusal({ expiresInDays: 367 })).toMatchObject({ result: 'refused', problem: 'a token lives 1 to 366 days' })
  expect(refusal({ expiresInDays: 0 })).toMatchObject({ result: 'refused' })
  expect(refusal({ name: 'tok_other' })).toMatchObject({ result: 'refused', problem: expect.stringContaining('kept for ids') })
  expect(rows('SELECT name FROM api_tokens')).toEqual([{ name: 'shop' }])
})

test('a write of a revoked, expired or unknown token is refused at its commit, in the group of the revocation too', () => {
  operate(token('shop').operation)
  expect(operate(topUp('crd_1'), by('tok_shop'))).toEqual(DONE)
  const refused = { result: 'refused', problem: 'the token is revoked or has expired', what: 'token' }
  expect(operate(topUp('crd_2'), by('tok_none'))).toEqual(refused)
  expect(operate(topUp('crd_2', NOW + 90 * DAY_MS), by('tok_shop'))).toEqual(refused)
  const together = machine.askAll(
    operateTask(topUp('crd_3'), by('tok_shop')),
    operateTask({ kind: 'revokeToken', tokenId: 'tok_shop', now: NOW }),
    operateTask(topUp('crd_4'), by('tok_shop')),
  )
  expect(together).toEqual([DONE, DONE, refused])
  expect(operate(topUp('crd_5'), by('tok_shop', once('k', 'r')))).toEqual(refused)
  expect(rows('SELECT id, actor FROM credits ORDER BY id')).toEqual([
    { id: 'crd_1', actor: 'token:shop' },
    { id: 'crd_3', actor: 'token:shop' },
  ])
})

describe('under an Idempotency-Key', () => {
  beforeEach(() => {
    operate(token('shop').operation)
    operate(token('other').operation)
  })

  test('a repetition does nothing and names what the first one made, in the same group too', () => {
    const key = (keyId: string) => operateTask(createKey(keyId, { accountId: 'acc_a' }), by('tok_shop', once('k', 'make a key')))
    expect(machine.askAll(key('key_1'), key('key_2'), key('key_3'))).toEqual([
      DONE,
      { ...DONE, repeats: { target: 'key_1', at: NOW } },
      { ...DONE, repeats: { target: 'key_1', at: NOW } },
    ])
    expect(machine.ask(key('key_4'))).toEqual({ ...DONE, repeats: { target: 'key_1', at: NOW } })
    expect(rows('SELECT id FROM keys')).toEqual([{ id: 'key_1' }])
    expect(rows("SELECT target FROM audit_log WHERE action = 'createKey'")).toEqual([{ target: 'key_1' }])
  })

  test('another request under it is refused; another token may use it', () => {
    expect(operate(topUp('crd_1'), by('tok_shop', once('k', 'five')))).toEqual(DONE)
    expect(operate(topUp('crd_2'), by('tok_shop', once('k', 'six')))).toEqual({
      result: 'refused',
      problem: 'it was used by another request',
      what: 'Idempotency-Key',
    })
    expect(operate(topUp('crd_3'), by('tok_other', once('k', 'six')))).toEqual(DONE)
    expect(rows('SELECT id FROM credits ORDER BY id')).toEqual([{ id: 'crd_1' }, { id: 'crd_3' }])
  })

  test('a refused write leaves the key free, and a day later it is free again and its row is gone', () => {
    const bad = { ...topUp('crd_1'), accountId: 'acc_none' } as Operation
    expect(operate(bad, by('tok_shop', once('k', 'five')))).toMatchObject({ result: 'refused' })
    expect(rows('SELECT * FROM api_writes')).toEqual([])
    expect(operate(topUp('crd_1'), by('tok_shop', once('k', 'five')))).toEqual(DONE)
    expect(operate(topUp('crd_2'), by('tok_shop', once('l', 'five')))).toEqual(DONE)
    const later = NOW + DAY_MS
    expect(operate(topUp('crd_3', later - 1), by('tok_shop', once('k', 'five')))).toEqual({
      ...DONE,
      repeats: { target: 'crd_1', at: NOW },
    })
    expect(operate(topUp('crd_4', later), by('tok_shop', once('k', 'six', later + DAY_MS)))).toEqual(DONE)
    expect(rows('SELECT target FROM api_writes')).toEqual([{ target: 'crd_4' }])
  })

  test('a reference that was credited before is what a repetition finds', () => {
    const withRef = (creditId: string) => ({ ...topUp(creditId), ref: 'invoice-1' }) as Operation
    expect(operate(withRef('crd_1'))).toEqual(DONE)
    const earlier = { creditId: 'crd_1', accountId: 'acc_a' }
    expect(operate(withRef('crd_2'), by('tok_shop', once('k', 'invoice')))).toEqual({ ...DONE, earlier })
    expect(operate(withRef('crd_3'), by('tok_shop', once('k', 'invoice')))).toEqual({ ...DONE, repeats: { target: 'crd_1', at: NOW } })
  })
})

test('a reload that was refused behind its line leaves the header free, also where its token was revoked meanwhile', () => {
  expect(operate(token('shop').operation)).toEqual(DONE)
  const reload = { kind: 'reload', changes: 2, node: null, now: NOW } as const
  const refusal = { kind: 'refuseReload', changes: 2, now: NOW } as const
  const act = by('tok_shop', once('k-1', 'reload'))
  expect(operate(reload, act)).toEqual(DONE)
  expect(operate(reload, act)).toMatchObject({ repeats: { at: NOW } })
  // Of another request under the same header nothing is taken back.
  expect(operate(refusal, by('tok_shop', once('k-1', 'another')))).toEqual(DONE)
  expect(operate(reload, act)).toMatchObject({ repeats: { at: NOW } })
  expect(operate({ ...refusal, now: NOW + 1 }, act)).toEqual(DONE)
  expect(rows('SELECT * FROM api_writes')).toEqual([])
  expect(operate({ ...reload, now: NOW + 2 }, act)).toEqual(DONE)
  operate({ kind: 'revokeToken', tokenId: 'tok_shop', now: NOW + 3 })
  expect(operate({ ...refusal, now: NOW + 4 }, act)).toEqual(DONE)
  expect(rows('SELECT * FROM api_writes')).toEqual([])
  const written = rows("SELECT action FROM audit_log WHERE target = 'configuration' ORDER BY id").map(({ action }) => action)
  expect(written).toEqual(['reload', 'refuseReload', 'refuseReload', 'reload', 'refuseReload'])
})
