/** A Worker's own file: a proxy that goes on while the thread of the test stands still, as it does where a ledger is opened. It is told the port, then what to do. */

import { parentPort } from 'node:worker_threads'
import { type Loss, type TcpProxy, tcpProxy } from './tcp-proxy.ts'

export type ProxyOrder = 'part' | 'cut' | 'heal' | 'close' | 'say' | Loss | Readonly<{ targetPort: number }> | Readonly<{ leadsTo: number }>

let proxy: TcpProxy | undefined
parentPort?.on('message', async (order: ProxyOrder) => {
  if (order === 'say') return parentPort?.postMessage('obeyed')
  if (typeof order === 'string') return proxy?.[order]()
  if ('text' in order) return proxy?.lose(order)
  if ('leadsTo' in order) return proxy?.lead(order.leadsTo)
  proxy = await tcpProxy(order.targetPort)
  parentPort?.postMessage(proxy.port)
})
