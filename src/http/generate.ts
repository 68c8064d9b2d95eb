/** The three routes that generate: one wire format each, one relay. Rules: contract.md "Endpoints". */

import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { Format } from '../core/format.ts'
import { chatFormat } from '../core/formats/chat/format.ts'
import { messagesFormat } from '../core/formats/messages/format.ts'
import { responsesFormat } from '../core/formats/responses/format.ts'
import type { Relay } from '../relay/relay.ts'
import type { World } from '../world.ts'
import type { ClientLimits } from './client-limit.ts'
import { connectionOf } from './connection.ts'
import { identify } from './key.ts'
import { CHAT } from './openapi/chat.ts'
import { MESSAGES } from './openapi/messages.ts'
import { RESPONSES } from './openapi/responses.ts'

export function generateRoutes(world: World, relay: Relay, clientLimits: ClientLimits) {
  const route =
    <Echo>(path: string, format: Format<Echo>) =>
    async ({ request, server }: { request: Request; server: Server<unknown> | null }): Promise<Response> => {
      const connection = connectionOf(world, request, server)
      const key = await identify(world, clientLimits, request.headers, 'either', connection.client)
      return relay.answer(format, path, request, key, connection)
    }
  // Elysia would otherwise read the body itself, and drop the fields that it does not know.
  const raw = { parse: 'none' } as const
  return new Elysia({ name: 'generate' })
    .post('/v1/messages', route('/v1/messages', messagesFormat), { ...raw, detail: MESSAGES })
    .post('/v1/chat/completions', route('/v1/chat/completions', chatFormat), { ...raw, detail: CHAT })
    .post('/v1/responses', route('/v1/responses', responsesFormat), { ...raw, detail: RESPONSES })
}
