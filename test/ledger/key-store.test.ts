/** Key records in memory: fast when known, asked once when not, never older than a change. */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { displayOf, type KeyRecord, makeSecret } from '../../src/core/key.ts'
import { KeyStore } from '../../src/ledger/admission/key-store.ts'
import type { KeyChange, Ledger } from '../../src/ledger/ledger.ts'
import { addKey, NOW, openTestLedger, sha256, usd } from '../support/ledger.ts'

const newSecret = () => makeSecret(() => randomBytes(64))

/** A ledger whose answers are given by hand. */
function manualLedger() {
  const asked: { hash: string; answer: (found: KeyRecord | undefined | 'unavailable') => void }[] = []
  let listener: (change: KeyChange) => void = () => undefined
  const ledger: Pick<Ledger, 'findKey' | 'foreignHeads' | 'onKeyChange' | 'onImport'> = {
    findKey: (hash) => new Promise((answer) => asked.push({ hash: Buffer.from(hash).toString('hex'), answer })),
    foreignHeads: () => Promise.resolve({ exact: new BigUint64Array(), channel: new BigUint64Array() }),
    onImport: () => undefined,
    onKeyChange: (heard) => {
      listener = heard
    },
  }
  return {
    ledger,
    asked,
    change: (keyId: string) => listener({ keyId, stop: null }),
    changeAll: (accountId: string) => listener({ accountId, stop: null }),
  }
}

const record = (id: string, more: Partial<KeyRecord> = {}): KeyRecord => ({
  id,
  accountId: 'acc_1',
  name: '',
  display: 'sk-…test',
  plan: 'default',
  limitPicos: null,
  expiresAt: null,
  isActive: true,
  isAccountActive: true,
  ...more,
})

test('what is no secret of ours never asks for a key where none was imported', async () => {
  const { ledger, asked } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW })
  const secret = newSecret()
  const typo = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`
  for (const text of ['', 'sk-', 'hello', typo, secret.slice(0, -1), `${secret}A`, ` ${secret}`, secret.toUpperCase()])
    expect([text, await store.find(text)]).toEqual([text, 'malformed'])
  expect(asked).toEqual([])
})

test('an unknown key is asked for once, however many wait for it, and then found without waiting', async () => {
  const { ledger, asked } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW })
  const secret = newSecret()
  const found = [store.find(secret), store.find(secret), store.find(secret)]
  expect(asked).toHaveLength(1)
  expect(asked[0]?.hash).toBe(Buffer.from(sha256(secret)).toString('hex'))
  asked[0]?.answer(record('key_1'))
  expect(await Promise.all(found)).toEqual([record('key_1'), record('key_1'), record('key_1')])
  expect(store.find(secret)).toEqual(record('key_1'))
  expect(asked).toHaveLength(1)
})

test('an unknown secret is refused from memory for a while; storage that fails is never remembered', async () => {
  let now = NOW
  const { ledger, asked } = manualLedger()
  const store = new KeyStore(ledger, { now: () => now })
  const secret = newSecret()
  const first = store.find(secret)
  asked[0]?.answer('unavailable')
  expect(await first).toBe('unavailable')
  const second = store.find(secret)
  asked[1]?.answer(undefined)
  expect(await second).toBeUndefined()
  now += 4_999
  expect(store.find(secret)).toBeUndefined()
  expect(asked).toHaveLength(2)
  now += 1
  expect(store.find(secret)).toBeInstanceOf(Promise)
  expect(asked).toHaveLength(3)
})

test('guesses are bounded and push no key out', async () => {
  const { ledger, asked } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW, recordsMax: 2, unknownsMax: 5 })
  const good = newSecret()
  const found = store.find(good)
  asked[0]?.answer(record('key_1'))
  await found
  const guesses = Array.from({ length: 50 }, newSecret)
  for (const guess of guesses) {
    const answer = store.find(guess)
    asked.at(-1)?.answer(undefined)
    await answer
  }
  expect(store.find(good)).toEqual(record('key_1'))
  expect(guesses.filter((guess) => store.find(guess) === undefined)).toHaveLength(5)
})

test('a change forgets the key, all its secrets and what was unknown; others stay', async () => {
  const { ledger, asked, change } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW })
  const [old, current, other, unknown] = [newSecret(), newSecret(), newSecret(), newSecret()]
  for (const [secret, answer] of [
    [old, record('key_1')],
    [current, record('key_1')],
    [other, record('key_2')],
    [unknown, undefined],
  ] as const) {
    const found = store.find(secret)
    asked.at(-1)?.answer(answer)
    await found
  }
  change('key_1')
  expect(store.find(other)).toEqual(record('key_2'))
  expect(asked).toHaveLength(4)
  for (const secret of [old, current, unknown]) expect(store.find(secret)).toBeInstanceOf(Promise)
  expect(asked).toHaveLength(7)
})

test('a change of an account forgets all its keys, also those that were forgotten before and came back; those of others stay', async () => {
  const { ledger, asked, change, changeAll } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW })
  const find = async (secret: string, answer: KeyRecord): Promise<void> => {
    const found = store.find(secret)
    asked.at(-1)?.answer(answer)
    await found
  }
  const [one, two, other] = [newSecret(), newSecret(), newSecret()]
  await find(one, record('key_1'))
  await find(two, record('key_2'))
  await find(other, record('key_3', { accountId: 'acc_3' }))
  change('key_2')
  await find(two, record('key_2'))
  changeAll('acc_1')
  expect(store.find(other)).toEqual(record('key_3', { accountId: 'acc_3' }))
  for (const secret of [one, two]) expect(store.find(secret)).toBeInstanceOf(Promise)
})

test('a change of an account forgets a key of which another secret was pushed out before', async () => {
  const { ledger, asked, changeAll } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW, recordsMax: 2 })
  const [old, current, other] = [newSecret(), newSecret(), newSecret()]
  for (const [secret, answer] of [
    [old, record('key_1')],
    [current, record('key_1')],
    [other, record('key_3', { accountId: 'acc_3' })],
  ] as const) {
    const found = store.find(secret)
    asked.at(-1)?.answer(answer)
    await found
  }
  expect(store.find(current)).toEqual(record('key_1'))
  changeAll('acc_1')
  expect(store.find(current)).toBeInstanceOf(Promise)
})

test('an answer that was on its way during a change is not remembered', async () => {
  const { ledger, asked, change } = manualLedger()
  const store = new KeyStore(ledger, { now: () => NOW })
  const secret = newSecret()
  const early = store.find(secret)
  change('key_1')
  const late = store.find(secret)
  expect(asked).toHaveLength(2)
  asked[1]?.answer(record('key_1', { isActive: false }))
  asked[0]?.answer(record('key_1'))
  await early
  expect(await late).toEqual(record('key_1', { isActive: false }))
  expect(store.find(secret)).toEqual(record('key_1', { isActive: false }))
})

test('records are read again after their time, as a safety net', async () => {
  let now = NOW
  const { ledger, asked } = manualLedger()
  const store = new KeyStore(ledger, { now: () => now })
  const secret = newSecret()
  const found = store.find(secret)
  asked[0]?.answer(record('key_1'))
  await found
  now += 29_999
  expect(store.find(secret)).toEqual(record('key_1'))
  now += 1
  expect(store.find(secret)).toBeInstanceOf(Promise)
})

test('with the real ledger: disabling is seen by the next look, and a rotated secret ends to the millisecond', async () => {
  let now = NOW
  const { ledger } = await openTestLedger({ now: () => now })
  const store = new KeyStore(ledger, { now: () => now })
  const secret = await addKey(ledger, 'key_1', { name: 'laptop', limitPicos: usd('3') })
  const expected = record('key_1', {
    name: 'laptop',
    limitPicos: usd('3'),
    display: displayOf(secret),
    secretValidUntil: null,
    rates: null,
    tagsUserIds: false,
  })
  expect(await store.find(secret)).toEqual({ ...expected, accountId: 'acc_1' })
  expect(store.find(secret)).toEqual({ ...expected, accountId: 'acc_1' })
  await ledger.operate({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now })
  expect(await store.find(secret)).toMatchObject({ isActive: false })
  await ledger.operate({ kind: 'setAccountActive', accountId: 'acc_1', isActive: false, now })
  expect(await store.find(secret)).toMatchObject({ isActive: false, isAccountActive: false })

  const next = newSecret()
  expect(await store.find(next)).toBeUndefined()
  await ledger.operate({
    kind: 'rotateKey',
    keyId: 'key_1',
    secretHash: sha256(next),
    display: displayOf(next),
    oldValidUntil: now + 10_000,
    now,
  })
  expect(await store.find(next)).toMatchObject({ id: 'key_1', display: displayOf(next) })
  now += 9_999
  expect(await store.find(secret)).toMatchObject({ id: 'key_1' })
  expect(store.find(secret)).toMatchObject({ id: 'key_1' })
  now += 1
  expect(store.find(secret)).toBeUndefined()
  now += 30_000
  expect(await store.find(secret)).toBeUndefined()
  expect(await store.find(next)).toMatchObject({ id: 'key_1' })
  await ledger.close()
})

test('where other processes write, a record and an unknown secret count only as long as nothing of them was missed', async () => {
  const { ledger, asked } = manualLedger()
  let missedAtMs = 0
  let nowMs = 10
  const store = new KeyStore(ledger, { now: () => NOW, monotonicMs: () => nowMs, isCurrent: (askedAtMs) => askedAtMs >= missedAtMs })
  const [known, unknown] = [newSecret(), newSecret()]
  const found = [store.find(known), store.find(unknown)]
  nowMs = 20
  asked[0]?.answer(record('key_1'))
  asked[1]?.answer(undefined)
  await Promise.all(found)
  expect([store.find(known), store.find(unknown)]).toEqual([record('key_1'), undefined])
  // Asked before, though answered after.
  missedAtMs = 15
  const again = [store.find(known), store.find(unknown)]
  expect(asked).toHaveLength(4)
  asked[2]?.answer(record('key_1', { isActive: false }))
  asked[3]?.answer(record('key_2'))
  expect(await Promise.all(again)).toEqual([record('key_1', { isActive: false }), record('key_2')])
})
