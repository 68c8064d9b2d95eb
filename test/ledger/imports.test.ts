/** An import is one transaction that is done once: what came is there whole, a second run changes nothing, and what cannot be is refused whole. Rules: ledger.md "Twice is once"; operator.md "Import". */

import type { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { KeyStore } from '../../src/ledger/admission/key-store.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { importedAccount, importedKey, importKeys } from '../support/imports.ts'
import { ACT, createKey, NOW, openTestLedger, usd } from '../support/ledger.ts'
import { openToRead } from '../support/stores.ts'

const KEYS = 10_000
const AT_ONCE = 100

test('ten thousand keys come in one go, and each answers by every text that it has', async () => {
  const { ledger, faults } = await openTestLedger({ now: Date.now })
  try {
    const store = new KeyStore(ledger)
    const secretOf = (n: number): string => `Key${n}`.padEnd(48, 'x')
    const accounts = Array.from({ length: KEYS }, (_, n) =>
      importedAccount(`user:${n}`, [importedKey(secretOf(n), n % 2 === 0 ? 'exact' : 'channel', { keyId: `key_${n}` })], {
        balancePicos: usd('1'),
      }),
    )
    expect(await ledger.operate(importKeys(accounts), ACT)).toEqual({ result: 'done' })
    const wrong: unknown[] = []
    const find = async (n: number, text: string): Promise<void> => {
      const found = await store.find(text)
      if (typeof found !== 'object' || found.id !== `key_${n}`) wrong.push([text, found])
    }
    for (let from = 0; from < KEYS; from += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => from + index).flatMap((n) => {
          const secret = secretOf(n)
          const texts = n % 2 === 0 ? [secret] : [secret, `sk-${secret}`, `sk-${secret}-4`, `${secret}-4`]
          return texts.map((text) => find(n, text))
        }),
      )
    expect(wrong).toEqual([])
    expect(faults).toEqual([])
  } finally {
    await ledger.close()
  }
})

/** All rows that an import may write. */
function rowsAt(path: string): unknown {
  const db = openToRead(path) as Database
  try {
    expect(differencesInFile(db)).toEqual([])
    const tables = ['accounts', 'keys', 'key_secrets', 'imported_keys', 'budgets', 'credits', 'audit_log']
    return tables.map((table) => db.query(`SELECT * FROM ${table}`).values())
  } finally {
    db.close()
  }
}

const ALICE = importedAccount('user:alice', [importedKey('sk-of-alice-the-first', 'exact', { limitPicos: usd('2') })], { name: 'Alice' })
const BOB = importedAccount('user:bob', [importedKey('BobsKeyOfThirtyTwoCharactersXXXX', 'channel', { isActive: false })], {
  balancePicos: usd('0'),
})

test('a second import changes no row; a later one brings what is new to the account that is there, and credits nothing again', async () => {
  const { ledger, path } = await openTestLedger()
  try {
    const import1 = importKeys([ALICE, BOB], { now: NOW })
    expect(await ledger.operate(import1, ACT)).toEqual({ result: 'done' })
    const rows = rowsAt(path)
    for (const again of [import1, importKeys([{ ...ALICE, balancePicos: usd('9'), creditId: 'crd_other' }, BOB], { now: NOW + 1 })])
      expect(await ledger.operate(again, ACT)).toEqual({ result: 'done' })
    expect(rowsAt(path)).toEqual(rows)
    const more = importKeys([{ ...ALICE, creditId: 'crd_2', keys: [...ALICE.keys, importedKey('sk-of-alice-the-second', 'exact')] }], {
      now: NOW,
    })
    expect(await ledger.operate(more, ACT)).toEqual({ result: 'done' })
    const store = new KeyStore(ledger, { now: () => NOW })
    expect(await store.find('sk-of-alice-the-second')).toMatchObject({ accountId: 'acc_user:alice', isActive: true })
    expect(await store.find('sk-BobsKeyOfThirtyTwoCharactersXXXX-2')).toMatchObject({ isActive: false })
    const db = openToRead(path)
    expect(db.query('SELECT name, credited_picos AS credited FROM accounts ORDER BY number').values()).toEqual([
      ['Alice', usd('5')],
      ['', 0n],
    ])
    expect(db.query('SELECT ref, actor FROM credits').values()).toEqual([['import:litellm:user:alice', ACT.actor]])
    db.close()
  } finally {
    await ledger.close()
  }
})

test('what cannot be brought is refused in words, and then nothing of the import is there', async () => {
  const { ledger, path } = await openTestLedger()
  try {
    await ledger.operate({ ...createKey('key_1'), name: 'taken' }, ACT)
    await ledger.operate(importKeys([ALICE], { now: NOW }), ACT)
    const rows = rowsAt(path)
    const key = importedKey('sk-of-another-person', 'exact')
    const bad: [Operation, RegExp][] = [
      [
        importKeys([BOB, importedAccount('user:c', [importedKey('sk-of-alice-the-first', 'exact', { source: 'other', keyId: 'key_x' })])]),
        /secret of other is that of key_of_sk-of-alice/,
      ],
      [importKeys([BOB, importedAccount('user:c', [key], { name: 'Alice' })]), /an account named "Alice" exists/],
      [
        importKeys([BOB, importedAccount('user:alice', [key], { accountId: 'acc_x' })]),
        /user:alice was imported into acc_user:alice meanwhile/,
      ],
      [importKeys([BOB, importedAccount('user:c', [{ ...key, expiresAt: NOW + 91 * 86_400_000 }])], { now: NOW }), /at most 90 days ahead/],
      [importKeys([BOB, importedAccount('user:c', [{ ...key, limitPicos: picos(-1n) }])]), /a limit is between/],
      [importKeys([BOB, importedAccount('user:c', [key], { balancePicos: picos(-1n) })]), /a balance is between/],
      [
        importKeys([BOB, importedAccount('user:c', [key], { budget: { per: 'day', capPicos: picos(-1n) } })]),
        /user:c: a budget is between/,
      ],
      [
        importKeys([BOB, importedAccount('user:c', [{ ...key, budget: { per: 'day', capPicos: picos(-1n) } }])]),
        /another-person: a budget is/,
      ],
    ]
    for (const [operation, problem] of bad)
      expect(await ledger.operate(operation, ACT)).toEqual({ result: 'refused', problem: expect.stringMatching(problem) })
    expect(rowsAt(path)).toEqual(rows)
  } finally {
    await ledger.close()
  }
})
