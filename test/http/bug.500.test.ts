/** A bug of ours is one client’s 500, and its words stay with us. Rules: requests.md "What never leaks". */

import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { refusals } from '../../src/http/refusals.ts'
import { ask, errorOf } from '../support/app.ts'
import { makeTestWorld } from '../support/world.ts'

test('a bug in a route is our 500, logged by where it is and not by what it says', async () => {
  const { world, logLines } = makeTestWorld()
  const app = new Elysia()
    .use(refusals(world))
    .get('/sync', () => {
      throw new TypeError('canary secret')
    })
    .get('/async', async () => {
      await Promise.resolve()
      throw new Error('canary secret')
    })
    .get('/odd', () => Promise.reject('canary secret'))
  for (const path of ['/sync', '/async', '/odd']) {
    const response = await ask(app, path)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await errorOf(response)).toEqual({ status: 500, type: 'server_error', message: 'Service temporarily unavailable; retry later' })
  }
  expect(logLines().filter(({ alarm }) => alarm !== undefined)).toHaveLength(3)
  expect(logLines().filter(({ status }) => status === 500)).toHaveLength(3)
  const at = expect.stringMatching(/^test\/http\/bug\.500\.test\.ts:\d+:\d+/)
  expect(logLines().filter(({ alarm }) => alarm !== undefined)).toMatchObject([
    { level: 'error', error: 'TypeError', at },
    { level: 'error', error: 'Error', at },
    { level: 'error', error: 'string', at: '' },
  ])
  expect(JSON.stringify(logLines())).not.toContain('canary')
})
