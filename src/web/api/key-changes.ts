/** A page's changes of a key as the ledger's operations, the same for the account's people and for operators. Rules: keys.md "Expiry and rotation"; pages.md "Keys of an account". */

import type { Limits } from '../../core/limits.ts'
import type { Operation } from '../../ledger/operation.ts'
import { extension, ratesChange } from '../../ledger/operations/key-writes.ts'
import { refuse } from './answers.ts'
import { limitOf } from './key-fields.ts'
import { wrongName } from './name-field.ts'

/** The operations for a new name and limit; a field that is absent stays as it is. */
export function renameAndLimit(
  keyId: string,
  { name, limit_usd }: Readonly<{ name?: string | undefined; limit_usd?: string | null }>,
  now: number,
): readonly Operation[] | Response {
  const limit = limit_usd === undefined ? undefined : limitOf(limit_usd)
  if (limit instanceof Response) return limit
  const wrong = name === undefined ? undefined : wrongName(name)
  if (wrong !== undefined) return wrong
  return [
    ...(name === undefined ? [] : [{ kind: 'renameKey', keyId, name, now } as const]),
    ...(limit === undefined ? [] : [{ kind: 'setKeyLimit', keyId, limitPicos: limit.picos, now } as const]),
  ]
}

/** The change of a key's own rates; a rate that is absent stays as it is. */
export function setRates(
  key: Parameters<typeof ratesChange>[0],
  set: Parameters<typeof ratesChange>[1],
  limits: Limits,
  now: number,
): readonly [Operation] | Response {
  const changed = ratesChange(key, set, limits, now)
  return 'problem' in changed ? refuse(400, `It is ${changed.problem}`, { field: changed.field }) : [changed]
}

export function extend(
  key: Readonly<{ id: string; expiresAt: number | null }>,
  days: number,
  now: number,
): readonly [Operation] | Response {
  const extended = extension(key, days, now)
  return 'daysLeft' in extended ? refuse(400, tooFar(extended.daysLeft), { field: 'days' }) : [extended]
}

const tooFar = (daysLeft: number): string =>
  daysLeft === 0 ? 'It expires as late as a key may' : `It can have ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'} more at most`

export const setActive = (keyId: string, isActive: boolean, now: number): readonly [Operation] => [
  { kind: 'setKeyActive', keyId, isActive, now },
]
