/** By what test gateways reach their upstreams: a socket of our own, or `fetch` for the tests that test/socket/over-fetch.test.ts registers a second time. */

import { afterAll, beforeAll } from 'bun:test'
import type { Transport } from '../../src/config/config.ts'

let chosen: Transport = 'socket'

export const transportOfTests = (): Transport => chosen

/** In a `describe`: for what `register` starts at once, and for what its tests start when they run. */
export async function overFetch(register: () => unknown): Promise<void> {
  beforeAll(() => {
    chosen = 'fetch'
  })
  afterAll(() => {
    chosen = 'socket'
  })
  chosen = 'fetch'
  await register()
  chosen = 'socket'
}
