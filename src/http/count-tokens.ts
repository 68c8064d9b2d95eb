/** The route that counts tokens. Rules: requests.md "Token counts". */

import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { BodyMemory } from '../relay/body-memory.ts'
import { countTokens } from '../relay/count-tokens.ts'
import type { KeyLimits } from '../relay/key-limits.ts'
import type { World } from '../world.ts'
import type { ClientLimits } from './client-limit.ts'
import { connectionOf } from './connection.ts'
import { identify } from './key.ts'
import { COUNT_TOKENS } from './openapi/messages.ts'

export const countTokensRoutes = (world: World, keyLimits: KeyLimits, clientLimits: ClientLimits, bodies: BodyMemory) =>
  new Elysia({ name: 'count-tokens' }).post(
    '/v1/messages/count_tokens',
    async ({ request, server }: { request: Request; server: Server<unknown> | null }) => {
      const connection = connectionOf(world, request, server)
      const key = await identify(world, clientLimits, request.headers, 'either', connection.client)
      return countTokens(world, keyLimits, bodies, request, key, connection)
    },
    { parse: 'none', detail: COUNT_TOKENS },
  )
