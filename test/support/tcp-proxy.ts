/** A way between a node and its database that a test can cut: `part` lets nothing through and closes nothing, as a network that is down does. */

import { connect, createServer, type Socket } from 'node:net'
import type { ProxyOrder } from './tcp-proxy-thread.ts'

export type TcpProxy = Readonly<{
  port: number
  /** Bytes wait on both sides, and new connections are taken and lead nowhere. */
  part(): void
  /** What was parted is reset: neither side knows what the other got. New ones pass. */
  heal(): void
  close(): void
}>

export function tcpProxy(targetPort: number): Promise<TcpProxy> {
  let isParted = false
  const sockets = new Set<Socket>()
  const server = createServer({ pauseOnConnect: true }, (client) => {
    track(client)
    if (isParted) return
    const target = connect(targetPort, '127.0.0.1')
    track(target)
    join(client, target)
    join(target, client)
    client.resume()
  })
  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }
  const join = (from: Socket, to: Socket): void => {
    from.on('data', (bytes) => {
      if (!isParted) to.write(bytes)
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
      heal() {
        isParted = false
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

/** The same on a thread of its own. */
export async function tcpProxyThread(targetPort: number): Promise<TcpProxy> {
  const worker = new Worker(new URL('./tcp-proxy-thread.ts', import.meta.url))
  const tell = (order: ProxyOrder): void => worker.postMessage(order)
  const { promise, resolve } = Promise.withResolvers<number>()
  worker.addEventListener('message', ({ data }) => resolve(data), { once: true })
  tell({ targetPort })
  return {
    port: await promise,
    part: () => tell('part'),
    heal: () => tell('heal'),
    close: () => worker.terminate(),
  }
}
