/** The preflight of browsers. Rules: requests.md "Browsers". */

import { Elysia } from 'elysia'
import { answerHeaders } from '../relay/answer-headers.ts'
import type { World } from '../world.ts'

const METHODS = 'GET, POST, OPTIONS'
/** Headers that clients are known to send. A preflight that asks for others is allowed those, too, since SDKs add headers with every version. */
const REQUEST_HEADERS = 'authorization, x-api-key, content-type, anthropic-version, anthropic-beta, vendor-version'
const HEADER_NAMES = /^[\w\-, ]{1,4000}$/
const PREFLIGHT_SECONDS = '7200'

/** Answers every OPTIONS under `/v1` with 204; an origin that is not allowed learns that by the header that is missing. */
export const preflight = (world: World) =>
  new Elysia({ name: 'preflight' }).options('/v1/*', ({ request: { headers } }) => {
    const asked = headers.get('access-control-request-headers') ?? ''
    return new Response(null, {
      status: 204,
      headers: {
        'access-control-allow-methods': METHODS,
        'access-control-allow-headers': HEADER_NAMES.test(asked) ? asked : REQUEST_HEADERS,
        'access-control-max-age': PREFLIGHT_SECONDS,
        ...answerHeaders(world.requestId(), world.corsOrigins(), headers.get('origin')),
      },
    })
  })
