/**
 * What a person looks for by a few letters, a few of each kind: for operators accounts, keys, people, requests and models, for an account's people what is of that account.
 * Rules: pages.md "Tables"; operator.md "Lists".
 */

import { Elysia, t } from 'elysia'
import type { Site } from '../site.ts'
import { callerMacro } from './caller.ts'
import { type ConsoleActs, NO_STORE } from './console-acts.ts'
import { modelsOfAccount } from './models-of-account.ts'

const EACH = 5
const REQUEST_ID = /^req_[0-9a-zA-Z_-]{6,76}$/
const QUERY = t.Object({ q: t.Optional(t.String({ maxLength: 200, description: 'What is looked for' })) })

/** `title`: a name where there is one. `detail`: what tells it from others of that name. */
export type FoundThing = Readonly<{ kind: 'account' | 'key' | 'person' | 'request' | 'model'; id: string; title: string; detail: string }>

const named = (kind: 'account' | 'key', id: string, name: string, detail: string): FoundThing => ({ kind, id, title: name || id, detail })
const request = (id: string, model: string): FoundThing => ({ kind: 'request', id, title: id, detail: model })

const modelsFound = (ids: Iterable<string>, text: string): readonly FoundThing[] =>
  [...ids]
    .filter((id) => id.toLowerCase().includes(text))
    .slice(0, EACH)
    .map((id) => ({ kind: 'model', id, title: id, detail: '' }))

type Known = Readonly<{ email: string; name: string }>
const personFound = ({ email, name }: Known): FoundThing => ({
  kind: 'person',
  id: email,
  title: email,
  detail: name === email ? '' : name,
})
const membersFound = (members: readonly Known[], text: string): readonly FoundThing[] =>
  members
    .filter(({ email, name }) => email.includes(text) || name.toLowerCase().includes(text))
    .slice(0, EACH)
    .map(personFound)

/** A part that cannot be read at this moment, or that is refused, is left out. */
const rowsOf = <Row>(page: Readonly<{ rows: readonly Row[] }> | Response | undefined): readonly Row[] =>
  page === undefined || page instanceof Response ? [] : page.rows

export function consoleFind(site: Site, { ask }: ConsoleActs) {
  const { people } = site
  return new Elysia({ name: 'console find', prefix: '/console/api' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/find',
      async ({ caller, query: { q = '' } }) => {
        const search = q.trim()
        const text = search.toLowerCase()
        if (search === '') return { data: [] as FoundThing[] }
        const receipt = REQUEST_ID.test(search) ? await ask<'anyReceipt'>(caller, { kind: 'anyReceipt', requestId: search }) : undefined
        const accounts = rowsOf(await ask<'accounts'>(caller, { kind: 'accounts', search, limit: EACH }))
        const keys = rowsOf(await ask<'keys'>(caller, { kind: 'keys', search, limit: EACH }))
        return {
          data: [
            ...(receipt === undefined || receipt instanceof Response ? [] : [request(search, receipt.receipt?.modelId ?? '')]),
            ...accounts.map(({ id, name }) => named('account', id, name, id)),
            ...keys
              .slice(0, EACH)
              .map(({ id, name, display, accountName, accountId }) => named('key', id, name, `${display} · ${accountName || accountId}`)),
            ...(await people().memberships.find(text, EACH)).map(personFound),
            ...modelsFound(site.world.catalog().models.keys(), text),
          ],
        }
      },
      { person: true, query: QUERY },
    )
}

export function accountFind(site: Pick<Site, 'world' | 'people'>) {
  const { reports } = site.world
  return new Elysia({ name: 'account find', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/find',
      async ({ caller, params: { accountId }, query: { q = '' } }) => {
        const search = q.trim()
        if (search === '') return { data: [] as FoundThing[] }
        const client = `person:${caller.person.id}`
        const receipt = REQUEST_ID.test(search)
          ? await reports.ask(client, { kind: 'accountReceipt', accountId, requestId: search })
          : undefined
        const keys = await reports.ask(client, { kind: 'orderedKeys', order: 'name', accountId, search, limit: EACH })
        return {
          data: [
            ...(typeof receipt === 'object' ? [request(search, receipt.receipt.modelId)] : []),
            ...(typeof keys === 'object' ? keys.rows.map(({ id, name, display }) => named('key', id, name, display)) : []),
            ...membersFound(await site.people().memberships.membersOf(accountId), search.toLowerCase()),
            ...modelsFound(await modelsOfAccount(site.world, client, accountId), search.toLowerCase()),
          ],
        }
      },
      { member: 'reader', query: QUERY },
    )
}
