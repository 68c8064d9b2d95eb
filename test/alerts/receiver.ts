/** A receiver of webhooks: a real server over TLS, with a certificate of the test's own authority, that keeps what it got and checks the signature as its owner would. */

import type { Server } from 'bun'
import { Webhook } from 'standardwebhooks'
import { type Certificate, makeAuthority } from '../support/certificates.ts'

export const authority = makeAuthority('of the receivers')
export const NAME = 'hooks.example'

export type Received = Readonly<{ id: string; timestamp: string; signature: string; host: string; path: string; body: string }>
export type Receiver = Readonly<{ url: string; port: number; received: Received[]; stop(): Promise<void> }>

type Options = Readonly<{
  answer?: (received: Received, count: number) => Response | Promise<Response>
  certificate?: Certificate | null
}>

/** `url` has the receiver's name: who calls it must resolve that to 127.0.0.1. */
export function startReceiver({ answer = () => new Response(), certificate = authority.issue([NAME]) }: Options = {}): Receiver {
  const received: Received[] = []
  const server: Server<unknown> = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(certificate === null ? {} : { tls: certificate }),
    async fetch(request) {
      const { headers } = request
      const of = (name: string): string => headers.get(name) ?? ''
      const one = {
        id: of('webhook-id'),
        timestamp: of('webhook-timestamp'),
        signature: of('webhook-signature'),
        host: of('host'),
        path: new URL(request.url).pathname,
        body: await request.text(),
      }
      received.push(one)
      return answer(one, received.length)
    },
  })
  const port = server.port ?? 0
  return { url: `http${certificate === null ? '' : 's'}://${NAME}:${port}/hook`, port, received, stop: () => server.stop(true) }
}

/** By the specification's own library, as its owner would. */
export function isSigned({ id, timestamp, signature, body }: Received, secret: string): boolean {
  try {
    new Webhook(secret).verify(body, { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature })
    return true
  } catch {
    return false
  }
}
