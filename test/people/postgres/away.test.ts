/** While Postgres is away a page is told to try again, without any alarm of a bug; when it is back whoever was signed in still is. Rules: pages.md "People". */

import { afterEach, beforeEach, expect } from 'bun:test'
import { Elysia } from 'elysia'
import { mountPages } from '../../../src/web/mount.ts'
import { PASSWORD, PeopleWorld } from '../../support/people.ts'
import { peopleOnPostgres } from '../../support/people-place.ts'
import { postgres, postgresSuite, postgresTest } from '../../support/postgres.ts'
import { makeTestWorld } from '../../support/world.ts'

let world: PeopleWorld

postgresSuite('Postgres is away', () => {
  peopleOnPostgres()
  beforeEach(() => {
    world = new PeopleWorld()
  })
  afterEach(() => world.remove())

  postgresTest('who asks for what is theirs hears that it cannot be looked up now, and is still signed in afterwards', async () => {
    const ann = await world.add('ann@example.com')
    const gateway = makeTestWorld()
    const pages = new Elysia().use(
      mountPages(gateway.world, '/cabinet', () => Promise.resolve({ handle: (request) => world.ask('cabinet', request) })),
    )
    const headers = { cookie: [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
    const ask = (path: string) => pages.handle(new Request(`http://127.0.0.1:8080${path}`, { headers }))
    const paths = ['/cabinet/api/me', '/cabinet/api/sessions', '/cabinet/api/accounts/acc_north/keys']
    for (const path of paths) expect([path, (await ask(path)).status]).toEqual([path, 200])
    const enter = (way: string, body: object | undefined) =>
      pages.handle(
        new Request(`http://127.0.0.1:8080/cabinet/auth/${way}`, {
          method: body === undefined ? 'GET' : 'POST',
          headers: { ...headers, origin: 'http://127.0.0.1:8080', 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      )
    const ways = [
      ['sign-in/email', { email: 'ann@example.com', password: PASSWORD }],
      ['sign-out', {}],
      ['passkey/list-user-passkeys', undefined],
      ['passkey/generate-authenticate-options', undefined],
      ['reset-password', { token: 'none', newPassword: PASSWORD }],
    ] as const
    for (const [way, body] of ways.slice(0, 1)) expect([way, (await enter(way, body)).status]).toEqual([way, 200])
    await postgres().stop('immediate')
    for (const [way, body] of ways) {
      const answer = await enter(way, body)
      expect([way, answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
        way,
        503,
        '1',
        { error: { message: 'This cannot be looked up at this moment. Try again' } },
      ])
    }
    for (const path of paths) {
      const answer = await ask(path)
      expect([path, answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
        path,
        503,
        '1',
        { error: { message: 'This cannot be looked up at this moment. Try again' } },
      ])
    }
    expect(gateway.logLines().filter((line) => 'alarm' in line)).toEqual([])
    expect(world.bugs).toEqual([])
    await postgres().start()
    for (const path of paths) expect([path, (await ask(path)).status]).toEqual([path, 200])
  })
})
