/** What upstreams send is read a turn's worth at a time: answers of megabytes have turns, one read each, and none of them holds the loop. Rules: platform.md "Sockets". */

import { afterEach, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { Connection } from '../../src/upstream/connection.ts'
import { openConnection } from '../../src/upstream/open-connection.ts'
import { LARGE_READ_BYTES, TurnReads } from '../../src/upstream/turn-reads.ts'
import { TurnWrites } from '../../src/upstream/turn-writes.ts'
import { until } from '../support/until.ts'

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const LARGE = new Uint8Array(LARGE_READ_BYTES)
const LITTLE = new Uint8Array(LARGE_READ_BYTES - 1)

/** A connection, and whether its socket is read. */
function connected(reads: TurnReads) {
  const seen = { isRead: true }
  const socket = {
    setKeepAlive: () => undefined,
    pause: () => (seen.isRead = false),
    resume: () => (seen.isRead = true),
    terminate: () => undefined,
  }
  const connection = new Connection({ isSecure: false, writes: new TurnWrites(), reads, settle: () => undefined })
  connection.user = { received: () => undefined, closed: () => undefined }
  connection.opened(socket as unknown as Socket<Connection>)
  return { connection, seen }
}

test('a connection that brought much is read on in a later turn, and one of several in each; little stops nothing', async () => {
  const reads = new TurnReads()
  const all = Array.from({ length: 3 }, () => connected(reads))
  const isRead = () => all.map(({ seen }) => seen.isRead)
  for (const { connection } of all) connection.received(LITTLE)
  expect(isRead()).toEqual([true, true, true])
  for (const { connection } of all) connection.received(LARGE)
  expect(isRead()).toEqual([false, false, false])
  await turn()
  expect(isRead()).toEqual([true, false, false])
  // What it brings now has its turn behind the others.
  all[0]?.connection.received(LARGE)
  await turn()
  expect(isRead()).toEqual([false, true, false])
  await turn()
  await turn()
  expect(isRead()).toEqual([true, true, true])
})

test('a reader that has paused is not read on by its turn, and one that goes on waits for it; one that is gone takes none from others', async () => {
  const reads = new TurnReads()
  const [paused, wanting, gone, last] = [connected(reads), connected(reads), connected(reads), connected(reads)]
  for (const { connection } of [paused, wanting, gone, last]) connection.received(LARGE)
  paused.connection.pause()
  wanting.connection.pause()
  wanting.connection.resume()
  expect(wanting.seen.isRead).toBe(false)
  gone.connection.destroy()
  await turn()
  expect([paused.seen.isRead, wanting.seen.isRead]).toEqual([false, false])
  paused.connection.resume()
  expect(paused.seen.isRead).toBe(true)
  await turn()
  expect(wanting.seen.isRead).toBe(true)
  await turn()
  await turn()
  expect([gone.seen.isRead, last.seen.isRead]).toEqual([false, true])
})

test('of three answers of 16 MB no turn reads more than one read of each, and each arrives whole and in order', async () => {
  const answer = new Uint8Array(16_000_000).map((_, at) => at % 251)
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(answer) })
  cleanUps.push(() => server.stop(true))
  const turns = { writes: new TurnWrites(), reads: new TurnReads() }
  let thisTurnBytes = 0
  let mostBytes = 0
  let isOn = true
  const look = (): void => {
    mostBytes = Math.max(mostBytes, thisTurnBytes)
    thisTurnBytes = 0
    if (isOn) setImmediate(look)
  }
  const bodies = Array.from({ length: 3 }, async () => {
    const target = { host: '127.0.0.1', port: server.port ?? 0, isSecure: false, ca: undefined }
    const connection = await openConnection(target, 60_000, turns).result
    if (typeof connection === 'string') throw new Error(connection)
    const pieces: Uint8Array[] = []
    let bytes = 0
    connection.user = {
      received: (piece) => {
        pieces.push(piece)
        bytes += piece.length
        thisTurnBytes += piece.length
      },
      closed: () => undefined,
    }
    connection.write([Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')])
    await until(() => bytes > answer.length, 'the whole answer')
    connection.destroy()
    return Buffer.concat(pieces).subarray(-answer.length)
  })
  look()
  const read = await Promise.all(bodies)
  isOn = false
  for (const body of read) expect(Buffer.compare(body, answer)).toBe(0)
  // One read brings half a megabyte at most; without turns ten of them, of each connection, came in one.
  expect(mostBytes).toBeLessThanOrEqual(3 * 512 * 1024)
})
