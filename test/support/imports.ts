/** Imports as operations, for tests of what becomes of them. */

import type { ImportSystem } from '../../src/core/import/systems.ts'
import type { ImportedAccount, ImportedKey, OperationOf } from '../../src/ledger/operation.ts'
import { sha256, usd } from './ledger.ts'

/** A key whose secret counts as it is, or one of one-api, which counts with `sk-` and without, and behind which a channel may be named. */
export const importedKey = (secret: string, form: ImportedKey['form'], more: Partial<ImportedKey> = {}): ImportedKey => ({
  keyId: `key_of_${secret}`.slice(0, 60),
  source: secret,
  secretHashes: (form === 'exact' ? [secret] : [secret, `sk-${secret}`]).map((text) => ({ hash: sha256(text), validUntil: null })),
  form,
  display: `sk-…${secret.slice(-4)}`,
  name: '',
  plan: 'default',
  limitPicos: null,
  budget: null,
  expiresAt: null,
  isActive: true,
  ...more,
})

export const importedAccount = (source: string, keys: readonly ImportedKey[], more: Partial<ImportedAccount> = {}): ImportedAccount => ({
  accountId: `acc_${source}`,
  source,
  name: '',
  creditId: `crd_${source}`,
  balancePicos: usd('5'),
  budget: null,
  keys,
  ...more,
})

export const importKeys = (
  accounts: readonly ImportedAccount[],
  { system = 'litellm', now = Date.now() }: Readonly<{ system?: ImportSystem; now?: number }> = {},
): OperationOf<'importKeys'> => ({ kind: 'importKeys', system, accounts, now })
