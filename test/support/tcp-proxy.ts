/**
 * A way between a node and its database that a test can cut: `part` lets nothing through and closes nothing, as a network that is down does; `lose` cuts it at the one
 * statement that the test names.
 */

import { connect, createServer, type Socket } from 'node:net'
import type { ProxyOrder } from './tcp-proxy-thread.ts'

export type TcpProxy = Readonly<{
  port: number
  /** Bytes wait on both sides, and new connections are taken and lead nowhere. */
  part(): void
  /** All that are there are reset. */
  cut(): void
  /** What was parted is reset: neither side knows what the other got. New ones pass. */
  heal(): void
  /** Cuts the connection at the next bytes with that text, which do not arrive; others like it are refused until `heal`. */
  lose(loss: Loss): void
  /** As an address that is moved to another server: what was open is cut, and new connections go there. */
  lead(port: number): void
  close(): void
}>

/** `from`: the client that asks, or the server that has done it. `of`: what the connection's startup says, such as the application's name. */
export type Loss = Readonly<{ text: string; from: 'client' | 'server'; of: string }>

export function tcpProxy(targetPort: number): Promise<TcpProxy> {
  let isParted = false
  let leadsTo = targetPort
  let loss: Loss | undefined
  let refused: string | undefined
  const sockets = new Set<Socket>()
  const server = createServer({ pauseOnConnect: true }, (client) => {
    track(client)
    if (isParted) return
    const target = connect(leadsTo, '127.0.0.1')
    track(target)
    watch(client, target)
    join(client, target)
    join(target, client)
    client.resume()
  })
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }
  /** Before `join`: whoever listens first hears it before it is passed on. */
  const watch = (client: Socket, target: Socket): void => {
    let startup: Buffer | undefined
    const lookFor = (from: Loss['from'], bytes: Buffer): void => {
      startup ??= bytes
      const isLost = loss !== undefined && loss.from === from && startup.includes(loss.of) && bytes.includes(loss.text)
      if (isLost) refused = loss?.of
      if (isLost) loss = undefined
      if (refused === undefined || !startup.includes(refused)) return
      client.destroy()
      target.destroy()
    }
    client.on('data', (bytes) => lookFor('client', Buffer.from(bytes)))
    target.on('data', (bytes) => lookFor('server', Buffer.from(bytes)))
  }
  const join = (from: Socket, to: Socket): void => {
    from.on('data', (bytes) => {
      if (!isParted && !to.destroyed) to.write(bytes)
    })
    from.on('close', () => {
      if (!isParted) to.destroy()
    })
  }
  const { promise, resolve } = Promise.withResolvers<TcpProxy>()
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    resolve({
      port: typeof address === 'object' && address !== null ? address.port : 0,
      part() {
        isParted = true
      },
      cut,
      heal() {
        isParted = false
        refused = undefined
        cut()
      },
      lose(asked) {
        loss = asked
      },
      lead(port) {
        leadsTo = port
        cut()
      },
      close() {
        server.close()
        cut()
      },
    })
  })
  return promise
}

/** An order crosses to the proxy's thread: what is sent meanwhile may pass before it holds. */
type Obedient = Readonly<{
  /** Resolves when all orders so far hold. */
  obeyed(): Promise<void>
}>

/** The same on a thread of its own. */
export async function tcpProxyThread(targetPort: number): Promise<TcpProxy & Obedient> {
  const worker = new Worker(new URL('./tcp-proxy-thread.ts', import.meta.url))
  const tell = (order: ProxyOrder): void => worker.postMessage(order)
  const { promise, resolve } = Promise.withResolvers<number>()
  worker.addEventListener('message', ({ data }) => resolve(data), { once: true })
  tell({ targetPort })
  return {
    port: await promise,
    part: () => tell('part'),
    cut: () => tell('cut'),
    heal: () => tell('heal'),
    lose: tell,
    lead: (leadsTo) => tell({ leadsTo }),
    close: () => worker.terminate(),
    obeyed: () => {
      const { promise: said, resolve: hear } = Promise.withResolvers<void>()
      worker.addEventListener('message', () => hear(), { once: true })
      tell('say')
      return said
    },
  }
}
