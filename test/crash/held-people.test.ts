/**
 * A connection of another process that holds the people's file holds up people only: what a client asks of a model is answered meanwhile, and who signs in comes in when
 * the file is let go. Rules: pages.md "People".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { dirname, join } from 'node:path'
import { Browser, PASSWORD } from '../support/people.ts'
import { type Key, Place } from './process.ts'

setDefaultTimeout(120_000)

let place: Place
beforeEach(() => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n')
})
afterEach(() => place.remove())

const browserAt = (url: string): Browser => new Browser({ handle: (request) => fetch(request) }, url, 'cabinet', '192.0.2.1')

/** So many answers of a model in a row, while a page that was asked before the first is not answered, say that the page waits for the file. */
const ANSWERS = 3

/** A gateway, and a person who is in. `askModel`: gives the status of a model's answer. `hold`: holds the file for as long as the connection is open. */
async function withAda(args: readonly string[]) {
  const gateway = await place.serve({ args })
  const { id } = await place.json<{ id: string }>('accounts', 'create', 'Ada', '--balance', '5', '--ref', 'first')
  const { link } = await place.json<{ link: string }>('people', 'invite', 'ada@example.com', '--account', id)
  const ada = browserAt(gateway.url)
  const token = new URL(link).pathname.split('/').at(-1)
  expect((await ada.post('/auth/invite', { token, password: PASSWORD })).status).toBe(200)
  const { key } = await place.json<Key>('keys', 'create', '--name', 'one', '--account', id)
  const askModel = async (): Promise<number> => {
    const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] })
    const answer = await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers: { 'x-api-key': key }, body })
    await answer.text()
    return answer.status
  }
  const hold = (): Database => {
    const file = new Database(join(dirname(place.ledgerPath), 'people.db'))
    file.run('BEGIN IMMEDIATE')
    return file
  }
  const signIn = () => browserAt(gateway.url).signIn('ada@example.com')
  return { gateway, ada, askModel, hold, signIn }
}

const PROCESSES: readonly [string, readonly string[]][] = [
  ['one process', []],
  ['relays', ['--processes', '2']],
]

test.each(PROCESSES)(
  '%s: models answer while a sign-in waits for the people’s file, and it ends well when the file is let go',
  async (_, args) => {
    const { ada, askModel, hold, signIn } = await withAda(args)
    expect(await askModel()).toBe(200)
    const file = hold()
    const order: string[] = []
    const signingIn = signIn().then(({ status }) => order.push(`signed in ${status}`))
    let page = Promise.resolve()
    for (let isWaiting = false; !isWaiting && order.length === 0; ) {
      isWaiting = true
      page = ada.get('/api/me').then(({ status }) => {
        expect(status).toBe(200)
        isWaiting = false
      })
      for (let n = 0; n < ANSWERS; n++) expect(await askModel()).toBe(200)
    }
    order.push('models answered')
    file.close()
    await Promise.all([signingIn, page])
    expect(order).toEqual(['models answered', 'signed in 200'])
  },
)

test.each(PROCESSES)('%s: a sign-in whose file is not let go is to be tried again, which is no bug, and then comes in', async (_, args) => {
  const { gateway, hold, signIn } = await withAda(args)
  const file = hold()
  const refused = await signIn()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  file.close()
  expect((await signIn()).status).toBe(200)
  expect(gateway.err()).toContain('the people cannot be asked')
  expect(gateway.err()).not.toContain('by a bug')
})
