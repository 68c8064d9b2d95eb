/** Protects keys.md "Imported keys", processes.md "Relays": relays answer the keys that an import brings, whichever process took it, also where they lost the ledger process meanwhile. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { KeyStore } from '../../src/ledger/admission/key-store.ts'
import { importedAccount, importedKey, importKeys } from '../support/imports.ts'
import { ACT, makeFolder } from '../support/ledger.ts'
import { openLedgerProcess, openTestRelay } from '../support/relays.ts'
import { until } from '../support/until.ts'

const [FIRST, SECOND] = ['sk-the-first-imported-key', 'TheSecondImportedKeyThatHasChannels']

test('an import through the ledger process, or through a relay, is heard by every relay', async () => {
  const path = join(makeFolder(), 'ledger.db')
  const main = await openLedgerProcess(path)
  const relays = [await openTestRelay(path), await openTestRelay(path)]
  try {
    await until(() => relays.every(({ ledger }) => ledger.mayAdmit()), 'all may admit')
    const stores = relays.map(({ ledger, shared }) => new KeyStore(ledger, { now: Date.now, isCurrent: shared.isCurrent }))
    const finds = async (text: string): Promise<readonly unknown[]> =>
      (await Promise.all(stores.map((store) => store.find(text)))).map((found) => (typeof found === 'object' ? found.accountId : found))
    expect(await finds(FIRST)).toEqual(['malformed', 'malformed'])
    await main.ledger.operate(importKeys([importedAccount('user:1', [importedKey(FIRST, 'exact')])]), ACT)
    await until(async () => (await finds(FIRST)).every((found) => found === 'acc_user:1'), 'both relays have heard of the first import')
    expect(await finds(`sk-${SECOND}-7`)).toEqual([undefined, undefined])
    await relays[0]?.ledger.operate(importKeys([importedAccount('user:2', [importedKey(SECOND, 'channel')])], { system: 'one-api' }), ACT)
    await until(
      async () => (await finds(`sk-${SECOND}-7`)).every((found) => found === 'acc_user:2'),
      'both relays have heard of the second import',
    )
    expect([...main.faults, ...relays.flatMap(({ faults }) => faults)]).toEqual([])
  } finally {
    await Promise.all(relays.map(({ ledger }) => ledger.close()))
    await main.ledger.close()
  }
})
