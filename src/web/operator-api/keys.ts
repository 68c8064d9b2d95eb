/** Keys over the operator's API: looked up, made and changed. Rules: operator-api.md "Scopes", "Writes"; keys.md "Expiry and rotation". */

import { Elysia } from 'elysia'
import { problemOfName } from '../../core/names.ts'
import type { Operation } from '../../ledger/operation.ts'
import { extension, ratesChange } from '../../ledger/operations/key-writes.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import { KEY, KEY_LIST, KEY_WITH_SECRET } from './account-documents.ts'
import type { ApiCaller } from './caller.ts'
import { answer, ERRORS, Failure, wrong } from './failure.ts'
import { keyActs, type MadeOfKey } from './key-acts.ts'
import { CREATE, EXTEND, LIST, limitOf, type RatesBody, RENAME, ROTATE, SET_LIMIT, SET_RATES } from './key-bodies.ts'
import type { Parts } from './parts.ts'
import { WHY } from './shapes.ts'

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Keys'], summary, description })
const CHANGES = { scope: 'keys', reach: 'account' } as const

export function keyRoutes(parts: Parts) {
  const { list, look, create, rotate } = keyActs(parts)
  return new Elysia({ name: 'operator api keys', prefix: '/keys' })
    .use(parts.macro)
    .get('', async ({ caller, query }) => answer(await list(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: LIST,
      response: { 200: KEY_LIST, ...ERRORS },
      detail: detail('listKeys', 'List keys', 'Newest first; with `search` in the order of names.'),
    })
    .post('', async ({ caller, body }) => answer(await create(caller, body)), {
      token: CHANGES,
      body: CREATE,
      response: { 200: KEY_WITH_SECRET, ...ERRORS },
      detail: detail('createKey', 'Make a key', 'The secret is shown once. Without `account_id` it gets an account of its own.'),
    })
    .get('/:key_id', async ({ caller, params }) => answer(await look(caller, params.key_id)), {
      token: { scope: 'read', reach: 'account' },
      response: { 200: KEY, ...ERRORS },
      detail: detail('getKey', 'Show a key', 'Its limit, spend and end.'),
    })
    .post('/:key_id/rotate', async ({ caller, params, body }) => answer(await rotate(caller, params.key_id, body)), {
      token: CHANGES,
      body: ROTATE,
      response: { 200: KEY_WITH_SECRET, ...ERRORS },
      detail: detail('rotateKey', 'Give a key a new secret', 'Shown once. The old one stays valid for `overlap_hours`.'),
    })
    .use(keyChanges(parts))
    .use(keyRates(parts))
}

function extended(key: ListedKey, days: number, now: number): MadeOfKey {
  const made = extension(key, days, now)
  if (!('daysLeft' in made)) return made
  return { operation: made.operation, refusedAs: wrong('days', `It can have ${made.daysLeft} days more at most`) }
}

/** Each changes one thing of a key, and shows the key as it is afterwards. */
function keyChanges(parts: Parts) {
  const { clock } = parts.world
  const { change } = keyActs(parts)
  const changed = async (caller: ApiCaller, keyId: string, reason: string | undefined, made: (key: ListedKey) => MadeOfKey) =>
    answer(await change(caller, keyId, reason, made))
  const setActive = (keyId: string, isActive: boolean): Operation => ({ kind: 'setKeyActive', keyId, isActive, now: clock.now() })
  return new Elysia({ name: 'operator api changes of keys' })
    .use(parts.macro)
    .post(
      '/:key_id/rename',
      ({ caller, params: { key_id: keyId }, body: { name, reason } }) =>
        changed(caller, keyId, reason, () => {
          const problem = problemOfName(name)
          return problem === undefined ? { kind: 'renameKey', keyId, name, now: clock.now() } : wrong('name', problem)
        }),
      {
        token: CHANGES,
        body: RENAME,
        response: { 200: KEY, ...ERRORS },
        detail: detail('renameKey', 'Rename a key', 'No two keys of an account have the same name.'),
      },
    )
    .post(
      '/:key_id/limit',
      ({ caller, params: { key_id: keyId }, body: { limit_usd, reason } }) =>
        changed(caller, keyId, reason, () => {
          const limitPicos = limitOf(limit_usd)
          return limitPicos instanceof Failure ? limitPicos : { kind: 'setKeyLimit', keyId, limitPicos, now: clock.now() }
        }),
      {
        token: CHANGES,
        body: SET_LIMIT,
        response: { 200: KEY, ...ERRORS },
        detail: detail('limitKey', 'Set a key’s spend limit', 'Or remove it, with null.'),
      },
    )
    .post(
      '/:key_id/extend',
      ({ caller, params: { key_id: keyId }, body: { days, reason } }) =>
        changed(caller, keyId, reason, (key) => extended(key, days, clock.now())),
      {
        token: CHANGES,
        body: EXTEND,
        response: { 200: KEY, ...ERRORS },
        detail: detail(
          'extendKey',
          'Extend a key',
          'From its end, or from now where that is past or there was none. Send an `Idempotency-Key`: twice is twice.',
        ),
      },
    )
    .post(
      '/:key_id/disable',
      ({ caller, params, body: { reason } }) => changed(caller, params.key_id, reason, () => setActive(params.key_id, false)),
      {
        token: CHANGES,
        body: WHY,
        response: { 200: KEY, ...ERRORS },
        detail: detail('disableKey', 'Disable a key', 'It is refused from now on, and running answers are cut.'),
      },
    )
    .post(
      '/:key_id/enable',
      ({ caller, params, body: { reason } }) => changed(caller, params.key_id, reason, () => setActive(params.key_id, true)),
      {
        token: CHANGES,
        body: WHY,
        response: { 200: KEY, ...ERRORS },
        detail: detail('enableKey', 'Enable a key', 'It may be used again.'),
      },
    )
}

/** Rates of a key's own, beside those of its plan. */
function keyRates(parts: Parts) {
  const { clock } = parts.world
  const { change } = keyActs(parts)
  const rated = async (caller: ApiCaller, keyId: string, { reason, ...set }: RatesBody): Promise<Response> => {
    const made = (key: ListedKey): MadeOfKey => {
      const rates = ratesChange(key, set, parts.world.limits(), clock.now())
      return 'problem' in rates ? { operation: rates.operation, refusedAs: wrong(rates.field, `It is ${rates.problem}`) } : rates
    }
    return answer(await change(caller, keyId, reason, made))
  }
  return new Elysia({ name: 'operator api rates of keys' })
    .use(parts.macro)
    .post('/:key_id/rates', ({ caller, params, body }) => rated(caller, params.key_id, body), {
      token: CHANGES,
      body: SET_RATES,
      response: { 200: KEY, ...ERRORS },
      detail: detail('rateKey', 'Set rates of a key', 'Requests and tokens a minute, and requests at once, beside the rates of its plan.'),
    })
}
