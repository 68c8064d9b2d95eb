/**
 * A stream of one process of `serve --processes 2` on a file, and its repetition at the other one: the same bytes and one charge, and what the death of either process, or of the one that has
 * the ledger, is to both clients. Rules: requests.md "Joined answers"; processes.md "Shared", "Death".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'bun'
import { openDatabase } from '../../db/open.ts'
import { type FakeUpstream, nativeStream, readChunks, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { receiptsIn } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { MODEL_ID } from './load.ts'
import { type GatewayProcess, Place } from './process.ts'
import { pidOf } from './relay-load.ts'

setDefaultTimeout(240_000)

const FRAMES = textFrames('Good morning')
/** Up to the first words. */
const BEGUN = FRAMES.findIndex((frame) => frame.includes('Good')) + 1

let place: Place
let upstream: FakeUpstream
let gateway: GatewayProcess
let key: string
/** The upstream sends the start of its answer, and the rest when this is resolved. */
let rest: PromiseWithResolvers<void>
let clients: Client[]

beforeEach(async () => {
  place = new Place()
  clients = []
  rest = Promise.withResolvers<void>()
  upstream = await startFakeUpstream({
    answer: () => nativeStream(...FRAMES.slice(0, BEGUN), { when: rest.promise }, ...FRAMES.slice(BEGUN)),
  })
  // A repetition takes no place among those that its key may have at once, of which there is one.
  const configuration = configurationOf({ upstreamUrl: upstream.url, drainMs: 1_000 })
  place.write('tollgate.toml', configuration.replace(/concurrent_requests = \d+/, 'concurrent_requests = 1'))
  ;({ key } = await place.createKey())
  gateway = await place.serve({ args: ['--processes', '2'], env: UPSTREAM_ENV })
})
afterEach(async () => {
  for (const { close } of clients) close()
  upstream.stop()
  await place.remove()
})

type Client = Readonly<{ port: number; text(): string; isClosed(): boolean; close(): void }>

const BODY = JSON.stringify({ model: MODEL_ID, max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'Hello' }] })

/** Sends the request on a connection of its own; the kernel chooses the process. */
async function ask(header: string, body = BODY): Promise<Client> {
  let text = ''
  let isClosed = false
  const closed = (): void => {
    isClosed = true
  }
  const data = (_: Socket, bytes: Uint8Array): void => {
    text += Buffer.from(bytes).toString('latin1')
  }
  const socket: Socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: Number(new URL(gateway.url).port),
    socket: { data, end: closed, close: closed, error: closed },
  })
  const head = `POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\nidempotency-key: ${header}\r\n`
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const client: Client = { port: socket.localPort, text: () => text, isClosed: () => isClosed, close: () => socket.terminate() }
  clients.push(client)
  return client
}

const statusOf = ({ text }: Client): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text())?.[1])
const headerOf = ({ text }: Client, name: string): string | undefined => new RegExp(`^${name}: (.*)\r$`, 'im').exec(text())?.[1]
const isWhole = ({ text }: Client): boolean => text().endsWith('\r\n0\r\n\r\n')
/** The events, without our comments before the first of them. */
const eventsOf = ({ text }: Client): string => {
  const body = Buffer.from(text().slice(text().indexOf('\r\n\r\n') + 4), 'latin1')
  return Buffer.from(readChunks(body).bytes)
    .toString()
    .replace(/^: ok\n\n/, '')
}

/** The process at the other end of the client's connection, by the number of its socket. */
function processOf({ port }: Client): number {
  const hex = (number: number | string): string => Number(number).toString(16).toUpperCase().padStart(4, '0')
  const [server, client] = [hex(new URL(gateway.url).port), hex(port)]
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/net/${table}`, 'latin1').split('\n'))
  const row = rows
    .map((line) => line.trim().split(/\s+/))
    .find(([, here, there]) => here?.endsWith(`:${server}`) && there?.endsWith(`:${client}`))
  return [pidOf(gateway, 1), pidOf(gateway, 2)].find((pid) => socketsOf(pid).has(`socket:[${row?.[9]}]`)) ?? 0
}

function socketsOf(pid: number): ReadonlySet<string> {
  const folder = `/proc/${pid}/fd`
  const linkOf = (name: string): string => {
    try {
      return readlinkSync(`${folder}/${name}`)
    } catch {
      return ''
    }
  }
  return new Set(readdirSync(folder).map(linkOf))
}

/** A client whose stream has begun, and one at the other process that repeats its request. */
async function twoClients(header: string) {
  const first = await ask(header)
  await until(
    () => eventsOf(first).includes('Good'),
    () => `the stream has begun: ${first.text()}`,
  )
  const owner = processOf(first)
  expect(owner).toBeGreaterThan(0)
  for (;;) {
    const second = await ask(header)
    await until(() => Number.isInteger(statusOf(second)) || second.isClosed(), 'it is answered')
    expect(statusOf(second)).toBe(200)
    const other = processOf(second)
    if (other !== owner) {
      await until(() => eventsOf(second) === eventsOf(first), 'it has what was sent')
      return { first, second, owner, other }
    }
    second.close()
  }
}

async function endAndCount(): Promise<number> {
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  const db = openDatabase(place.ledgerPath, 'read')
  if ('problem' in db) throw new Error(db.message)
  try {
    return receiptsIn(db).filter(({ costPicos }) => costPicos > 0n).length
  } finally {
    db.close()
    await place.verify()
  }
}

test('a repetition that reaches the other process takes part in the stream: the same bytes and id, one call and one charge', async () => {
  const { first, second } = await twoClients('one')
  expect([headerOf(second, 'idempotency-replayed'), headerOf(second, 'request-id')]).toEqual(['true', headerOf(first, 'request-id')])
  const other = await ask('one', BODY.replace('Hello', 'Good-bye'))
  await until(() => Number.isInteger(statusOf(other)), 'it is answered')
  expect(statusOf(other)).not.toBe(200)
  rest.resolve()
  await until(() => isWhole(first) && isWhole(second), 'both have the end')
  expect(eventsOf(first)).toContain('message_stop')
  expect(eventsOf(second)).toBe(eventsOf(first))
  expect(upstream.requests).toHaveLength(1)
  expect(await endAndCount()).toBe(1)
})

test('where the process that sends the stream is killed, both connections break, and nothing is charged', async () => {
  const { first, second, owner } = await twoClients('one')
  process.kill(owner, 'SIGKILL')
  await until(() => first.isClosed() && second.isClosed(), 'both break')
  expect([isWhole(first), isWhole(second)]).toEqual([false, false])
  rest.resolve()
  expect(await endAndCount()).toBe(0)
})

test('where the ledger process is killed, the repetition goes on where it was, and gets the end', async () => {
  const { first, second } = await twoClients('one')
  const ledger = pidOf(gateway, 0)
  process.kill(ledger, 'SIGKILL')
  await until(() => pidOf(gateway, 0) !== ledger, 'it begins anew')
  rest.resolve()
  await until(() => isWhole(first) && (isWhole(second) || second.isClosed()), 'both have the end')
  expect(eventsOf(second)).toBe(eventsOf(first))
  expect(isWhole(second)).toBe(true)
  expect(await endAndCount()).toBe(1)
})
