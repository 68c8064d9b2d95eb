/**
 * The routes that reach a model: three that generate, one wire format each, and one that counts tokens.
 * Rules: contract.md "Endpoints"; requests.md "Token counts".
 */

import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { Format } from '../core/format.ts'
import { chatFormat } from '../core/formats/chat/format.ts'
import { messagesFormat } from '../core/formats/messages/format.ts'
import { responsesFormat } from '../core/formats/responses/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import type { Connection } from '../relay/exchange.ts'
import type { Relay } from '../relay/relay.ts'
import type { World } from '../world.ts'
import type { ClientLimits } from './client-limit.ts'
import { ServedConnection } from './connection.ts'
import { identify } from './key.ts'
import { CHAT } from './openapi/chat.ts'
import { COUNT_TOKENS, MESSAGES } from './openapi/messages.ts'
import { RESPONSES } from './openapi/responses.ts'

type Generate = (request: Request, identified: KeyRecord | Refusal, connection: Connection) => Promise<Response>

export function generateRoutes(world: World, relay: Relay, clientLimits: ClientLimits) {
  const route =
    (answer: Generate) =>
    ({ request, server }: { request: Request; server: Server<unknown> | null }): Promise<Response> => {
      const connection = new ServedConnection(world, request, server)
      const found = identify(world, clientLimits, request.headers, 'either', connection.client)
      if (found instanceof Promise || found instanceof Refusal) connection.client.look()
      if (found instanceof Promise) return found.then((key) => answer(request, key, connection))
      return answer(request, found, connection)
    }
  const generate = <Echo>(path: string, format: Format<Echo>) =>
    route((request, key, connection) => relay.answer(format, path, request, key, connection))
  const count = route((request, key, connection) => relay.countTokens(request, key, connection))
  // Elysia would otherwise read the body itself, and drop the fields that it does not know.
  const raw = { parse: 'none' } as const
  return new Elysia({ name: 'generate' })
    .post('/v1/messages', generate('/v1/messages', messagesFormat), { ...raw, detail: MESSAGES })
    .post('/v1/chat/completions', generate('/v1/chat/completions', chatFormat), { ...raw, detail: CHAT })
    .post('/v1/responses', generate('/v1/responses', responsesFormat), { ...raw, detail: RESPONSES })
    .post('/v1/messages/count_tokens', count, { ...raw, detail: COUNT_TOKENS })
}
