/** Routes under test as one application, as src/http/app.ts composes them, and the same behind a real socket for what only a socket shows. */

import { connect } from 'node:net'
import { Elysia } from 'elysia'
import { absoluteUrl } from '../../src/http/absolute-url.ts'
import { ClientLimits } from '../../src/http/client-limit.ts'
import { preflight } from '../../src/http/cors.ts'
import { dashboardRoutes } from '../../src/http/dashboard.ts'
import { publicHealth } from '../../src/http/health.ts'
import { keyMacro } from '../../src/http/key.ts'
import { keyStatusRoutes } from '../../src/http/key-status.ts'
import { modelRoutes } from '../../src/http/models.ts'
import { refusals } from '../../src/http/refusals.ts'
import { usageRoutes } from '../../src/http/usage.ts'
import type { World } from '../../src/world.ts'
import { gatesOf } from './gates.ts'

/** Everything but the routes that spend. */
export function smallApp(world: World) {
  const clocked = { limits: world.limits, now: world.clock.monotonicMs }
  const gates = gatesOf(world)
  const macro = keyMacro(world, gates, new ClientLimits(clocked))
  return new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .use(absoluteUrl())
    .use(refusals(world))
    .use(preflight(world))
    .use(dashboardRoutes(world, macro))
    .use(usageRoutes(world, macro))
    .use(keyStatusRoutes(world, gates, macro))
    .use(modelRoutes(world, macro))
    .use(publicHealth(world))
}

type Handles = { handle(request: Request): Promise<Response> | Response }

/** One request without a socket. */
export const ask = async (app: Handles, path: string, init: RequestInit = {}): Promise<Response> =>
  app.handle(new Request(`http://gateway.example${path}`, init))

export const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` })

export type ErrorAnswer = { status: number; type: string; message: string }

/** Reads an error answer and checks what every one of them has: the standard body and nothing else, the two ids, no caching. */
export async function errorOf(response: Response): Promise<ErrorAnswer> {
  const body = (await response.json()) as { type: string; error: { type: string; message: string } }
  const id = response.headers.get('x-request-id')
  if (JSON.stringify(Object.keys(body)) !== '["type","error"]' || body.type !== 'error')
    throw new Error(`not an error body: ${JSON.stringify(body)}`)
  if (id === null || !id.startsWith('req_') || response.headers.get('request-id') !== id) throw new Error('an answer without its ids')
  if (response.headers.get('content-type') !== 'application/json') throw new Error('an error that is not JSON')
  return { status: response.status, ...body.error }
}

/** Sends raw text to a port and gives what comes back until the server closes; say `connection: close` in it. */
export function exchangeRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1')
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
    socket.write(text.replaceAll('\n', '\r\n'))
  })
}
