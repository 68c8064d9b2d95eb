/**
 * A store of people that closes keeps its process waiting for nothing but the questions that are under way: Bun's client waits for each connection that it has not
 * back. Rules: pages.md "People".
 */

import { expect, spyOn, test } from 'bun:test'
import type { ReservedSQL } from 'bun'
import { ConnectionPool } from '../../../db/postgres/connection-pool.ts'
import { postgresPeople } from '../../../src/people/postgres/postgres-people.ts'

/** Connections in place of a client's, and which of them it has back. */
function fakeClient() {
  const back: string[] = []
  let count = 0
  const reserve = (): Promise<ReservedSQL> => {
    const name = `connection ${++count}`
    const connection = { name, unsafe: () => Promise.resolve([]), release: () => void back.push(name) }
    return Promise.resolve(connection as unknown as ReservedSQL)
  }
  return { back, reserve: reserve as never }
}

test('closed, it has given back what nobody uses at once, and what is in use as soon as its question is answered', async () => {
  const client = fakeClient()
  const pool = new ConnectionPool(client, 2, {})
  const answer = Promise.withResolvers<string>()
  const asked = pool.use(() => answer.promise)
  await pool.use(() => Promise.resolve())
  expect(client.back).toEqual([])
  pool.close()
  expect(client.back).toEqual(['connection 2'])
  answer.resolve('answered')
  expect(await asked).toBe('answered')
  expect(client.back).toEqual(['connection 2', 'connection 1'])
})

test('who waits for a connection when it closes is answered, too', async () => {
  const client = fakeClient()
  const pool = new ConnectionPool(client, 1, {})
  const answer = Promise.withResolvers<string>()
  const asked = pool.use(() => answer.promise)
  const waiting = pool.use(() => Promise.resolve('later'))
  pool.close()
  answer.resolve('answered')
  expect(await Promise.all([asked, waiting])).toEqual(['answered', 'later'])
  expect(client.back).toEqual(['connection 1'])
})

test('the store closes its pool', async () => {
  using closing = spyOn(ConnectionPool.prototype, 'close')
  await postgresPeople('postgres://nobody@127.0.0.1:1/nothing').close()
  expect(closing).toHaveBeenCalledTimes(1)
})
