/** The shape of an import as the operator's socket takes it. Rules: operator.md "Socket", "Import". */

import { Type } from '@sinclair/typebox'
import { IMPORT_SYSTEMS } from '../core/import/systems.ts'
import { IMPORTED_KEYS_MAX } from '../core/limits.ts'
import { hash, id, label, orNull, per, picos, shape, time } from './message-parts.ts'

const budget = orNull(shape({ per, capPicos: picos }))

const importedKey = shape({
  keyId: id,
  source: label,
  secretHashes: Type.Array(shape({ hash, validUntil: orNull(time) }), { minItems: 1, maxItems: 16 }),
  form: Type.Union([Type.Literal('exact'), Type.Literal('channel')]),
  ...{ display: label, name: label, plan: label, limitPicos: orNull(picos), budget, expiresAt: orNull(time), isActive: Type.Boolean() },
})

const importedAccount = shape({
  accountId: id,
  source: label,
  name: label,
  creditId: id,
  balancePicos: picos,
  budget,
  keys: Type.Array(importedKey, { maxItems: IMPORTED_KEYS_MAX }),
})

export const IMPORT = shape({
  kind: Type.Literal('importKeys'),
  system: Type.Union(IMPORT_SYSTEMS.map((system) => Type.Literal(system))),
  accounts: Type.Array(importedAccount, { maxItems: IMPORTED_KEYS_MAX }),
  now: time,
})
