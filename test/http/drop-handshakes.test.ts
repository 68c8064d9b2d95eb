/** Who comes while a listener closes is turned away, and nobody who was let in is broken. Rules: operator.md "Shutdown". */

import { expect, test } from 'bun:test'
import { dropHandshakes } from '../../src/http/drop-handshakes.ts'
import { listenersOn } from '../../src/http/kernel-sockets.ts'
import { preparedToStopAccepting } from '../../src/http/stop-accepting.ts'
import { until } from '../support/until.ts'

const answering = () => Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('here') })
const REFUSED = 'ECONNREFUSED'
const linux = test.skipIf(process.platform !== 'linux')

/** What a connection hears of one request. */
async function connect(port: number) {
  const heard: string[] = []
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: { data: (_, bytes) => void heard.push(bytes.toString()), close: () => void heard.push('closed') },
  })
  return { heard, ask: () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), end: () => socket.terminate() }
}

linux('a connection that was there goes on, a new one is not answered', async () => {
  const server = answering()
  const port = server.port ?? 0
  const before = await connect(port)
  expect(dropHandshakes(listenersOn(port))).toBe(true)
  before.ask()
  await until(() => before.heard.join('').endsWith('here'))
  let isConnected = false
  const late = connect(port).then((connection) => {
    isConnected = true
    return connection
  })
  before.ask()
  await until(() => before.heard.join('').split('here').length === 3)
  expect(isConnected).toBe(false)
  // Its next handshake, a second after the first, finds nobody.
  before.end()
  await server.stop(true)
  expect(
    await late.then(
      () => 'connected',
      () => 'refused',
    ),
  ).toBe('refused')
})

linux('a server that is let go of alone loses none of those that were on their way', async () => {
  const server = answering()
  const port = server.port ?? 0
  const stopAccepting = preparedToStopAccepting(port)
  let isOn = true
  const fates: string[] = []
  const ask = async (): Promise<void> => {
    while (isOn)
      fates.push(
        await fetch(`http://127.0.0.1:${port}`, { keepalive: false }).then(
          (answer) => answer.text(),
          (error: { code?: string }) => String(error.code),
        ),
      )
  }
  const lanes = Array.from({ length: 8 }, ask)
  await until(() => fates.length > 100)
  expect(await stopAccepting({ isAlone: true })).toBe(true)
  await until(() => fates.includes(REFUSED))
  isOn = false
  await Promise.all(lanes)
  expect([...new Set(fates)].toSorted()).toEqual([REFUSED, 'here'])
  await server.stop(true)
})
