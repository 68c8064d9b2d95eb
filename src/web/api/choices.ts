/**
 * The lists from which filters and accounts are chosen: a few accounts, keys, models, upstreams, or actors and targets of the audit log, by a few letters, and those that were
 * chosen by their ids, each with its name. An account's people choose among what is of the account. Rules: pages.md "Tables"; operator.md "Lists".
 */

import { Elysia, t } from 'elysia'
import { NO_UPSTREAM } from '../../ledger/reading/receipt-filter.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { type ConsoleActs, NO_STORE, oneOf } from './console-acts.ts'
import { modelsOfAccount } from './models-of-account.ts'
import { refuseUnread } from './unread.ts'
import { values, valuesIn } from './value-lists.ts'

/** At most so many are offered; more letters narrow them. */
const OFFERED_MAX = 50

const queryOf = <const Of extends string>(of: readonly Of[]) =>
  t.Object({
    of: t.Optional(oneOf(of, 'What is chosen')),
    q: t.Optional(t.String({ maxLength: 200, description: 'What is looked for' })),
    ids: values('things, whatever is looked for'),
  })

/** `text`: the name, or the id of what has none. `detail`: tells it from others of that name. */
export type ChoiceDocument = Readonly<{ value: string; text: string; detail: string }>

const plain = (value: string, text = value): ChoiceDocument => ({ value, text, detail: '' })
const named = (id: string, name: string | undefined, detail: string): ChoiceDocument => ({ value: id, text: name || id, detail })
const having = (ids: readonly string[], text: string): readonly ChoiceDocument[] =>
  ids
    .filter((id) => id.toLowerCase().includes(text.toLowerCase()))
    .slice(0, OFFERED_MAX)
    .map((id) => plain(id, id === NO_UPSTREAM ? 'none' : id))

const searchOf = (text: string) => ({ limit: OFFERED_MAX, ...(text === '' ? {} : { search: text }) })

/** What is looked up in the ledger or among people. A target is an account or a key. */
type Looked = 'account' | 'key' | 'actor' | 'target'
const PERSON = 'person:'

export function consoleChoices({ world, people, upstreams }: Site, { ask }: ConsoleActs) {
  const accounts = async (caller: Caller, text: string): Promise<readonly ChoiceDocument[] | Response> => {
    const page = await ask<'accounts'>(caller, { kind: 'accounts', ...searchOf(text) })
    return page instanceof Response ? page : (page?.rows ?? []).map(({ id, name }) => named(id, name, id))
  }
  const keys = async (caller: Caller, text: string): Promise<readonly ChoiceDocument[] | Response> => {
    const page = await ask<'keys'>(caller, { kind: 'keys', ...searchOf(text) })
    if (page instanceof Response) return page
    return (page?.rows ?? []).map((key) => named(key.id, key.name, `${key.display} · ${key.accountName || key.accountId}`))
  }
  /** People as actors of the audit log. */
  const actors = async (text: string): Promise<readonly ChoiceDocument[]> =>
    (await people().memberships.find(text.toLowerCase(), OFFERED_MAX)).map(({ email, name }) =>
      named(`${PERSON}${email}`, email, name === email ? '' : name),
    )
  const targets = async (caller: Caller, text: string): Promise<readonly ChoiceDocument[] | Response> => {
    const ofAccounts = await accounts(caller, text)
    if (ofAccounts instanceof Response) return ofAccounts
    const ofKeys = await keys(caller, text)
    return ofKeys instanceof Response ? ofKeys : [...ofAccounts.slice(0, OFFERED_MAX / 2), ...ofKeys.slice(0, OFFERED_MAX / 2)]
  }
  const offered = (caller: Caller, of: Looked, text: string) =>
    of === 'actor' ? actors(text) : { account: accounts, key: keys, target: targets }[of](caller, text)
  const chosen = async (caller: Caller, of: Looked, ids: readonly string[]): Promise<readonly ChoiceDocument[] | Response> => {
    if (of === 'actor') return ids.map((id) => plain(id, id.startsWith(PERSON) ? id.slice(PERSON.length) : id))
    const names = await ask<'names'>(caller, { kind: 'names', accountIds: of === 'key' ? [] : ids, keyIds: of === 'account' ? [] : ids })
    return names instanceof Response ? names : ids.map((id) => named(id, names[id], id))
  }
  return new Elysia({ name: 'console choices', prefix: '/console/api' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/choices',
      async ({ caller, query: { of, q = '', ...lists } }) => {
        if (of === undefined) return refuse(400, 'What is chosen', { field: 'of' })
        const listed = valuesIn(lists, ['ids'])
        if (listed instanceof Response) return listed
        const { ids } = listed
        if (of === 'model' || of === 'upstream') {
          const all = of === 'model' ? [...world.catalog().models.keys()] : [...upstreams.reports().map(({ name }) => name), NO_UPSTREAM]
          return { data: ids === undefined ? having(all, q.trim()) : ids.map((id) => plain(id, id === NO_UPSTREAM ? 'none' : id)) }
        }
        const data = await (ids === undefined ? offered(caller, of, q.trim()) : chosen(caller, of, ids))
        return data instanceof Response ? data : { data }
      },
      { person: true, query: queryOf(['account', 'key', 'model', 'upstream', 'actor', 'target']) },
    )
}

export function accountChoices({ world, people }: Pick<Site, 'world' | 'people'>) {
  const { reports } = world
  /** Of keys that are not the account's, nothing but what was asked. */
  const chosenKey = async (client: string, accountId: string, keyId: string): Promise<ChoiceDocument> => {
    const key = await reports.ask(client, { kind: 'accountKey', accountId, keyId })
    return typeof key === 'object' ? named(keyId, key.name, key.display) : plain(keyId)
  }
  return new Elysia({ name: 'account choices', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/choices',
      async ({ caller, params: { accountId }, query: { of, q = '', ...lists } }) => {
        if (of === undefined) return refuse(400, 'What is chosen', { field: 'of' })
        const listed = valuesIn(lists, ['ids'])
        if (listed instanceof Response) return listed
        const { ids } = listed
        const client = `person:${caller.person.id}`
        if (of === 'model')
          return {
            data: ids === undefined ? having(await modelsOfAccount(world, client, accountId), q.trim()) : ids.map((id) => plain(id)),
          }
        if (ids !== undefined) {
          const data: ChoiceDocument[] = []
          for (const id of ids) data.push(await chosenKey(client, accountId, id))
          return { data }
        }
        const page = await reports.ask(client, { kind: 'orderedKeys', order: 'name', accountId, ...searchOf(q.trim()) })
        if (typeof page === 'string') return refuseUnread(page)
        return { data: (page?.rows ?? []).map(({ id, name, display }) => named(id, name, display)) }
      },
      { member: 'reader', query: queryOf(['key', 'model']) },
    )
}
