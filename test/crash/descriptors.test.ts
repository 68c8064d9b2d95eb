/** More clients than the process has descriptors for: those that it has go on, and when the crowd has gone all is as before. Rules: platform.md "Sockets". */

import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { connectRaw, type RawConnection } from '../support/raw-client.ts'
import { keepBooks } from './book-keeper.ts'
import { PROGRAM } from './compiled.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { askIn, openStream } from './load.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'

const place = new Place()
afterAll(() => place.remove())

/** User and system time of the process in ticks of a hundredth of a second. Source: proc(5), `/proc/pid/stat`. */
function ticksOf({ pid }: GatewayProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

test(
  'with 200 descriptors and 400 clients a stream that runs goes on, the processor is not burnt, and the next request after the crowd is answered',
  async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    let isFirst = true
    const books = keepBooks((_call, step) => {
      if (!isFirst || step < 1) return undefined
      isFirst = false
      return gate
    })
    place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url }))
    const gateway = await place.serve({ env: UPSTREAM_ENV, program: ['prlimit', '--nofile=200:200', ...PROGRAM] })
    const { key } = await place.createKey()
    const stream = await openStream(gateway.url, key)
    await stream.until('answer-0. 0 ')
    const crowd: RawConnection[] = []
    for (let index = 0; index < 400; index++) crowd.push(await connectRaw(gateway.url))
    await Bun.sleep(300)
    const before = ticksOf(gateway)
    await Bun.sleep(1_000)
    expect(ticksOf(gateway) - before).toBeLessThan(50)
    open()
    expect(await stream.rest()).toContain('message_stop')
    for (const connection of crowd) connection.reset()
    await Bun.sleep(300)
    expect(await askIn('messages', gateway.url, key)).toBeDefined()
    expect(await askIn('chatStream', gateway.url, key)).toBeDefined()
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    await place.verify()
    await books.stop()
  },
  2 * PROCESS_TIMEOUT_MS,
)
