/**
 * Accepts a path of the API only as it is written. Bun hands over `/v1/./models` and `/v1\models` as `/v1/models`, but matches its own routes, in which
 * Elysia puts those of the API, against what was sent. So a path that reaches the handler behind them was written differently, and is 404. Rules: contract.md
 * "Errors"; platform.md "Bun's server".
 */

import { Elysia } from 'elysia'
import { pathOf } from '../relay/request-target.ts'

/** `isListening`: only a listening server matches routes of its own. */
export const pathAsSent = (isListening: () => boolean) =>
  new Elysia({ name: 'path-as-sent' }).wrap((answer) => (request: Request) => {
    // A request that Bun matched has the parameters of its route; a preflight has none by design.
    if (!('params' in request) && request.method !== 'OPTIONS' && isListening() && pathOf(request.url).startsWith(API))
      Object.defineProperty(request, 'url', { value: request.url.replace(API, `${API}./`), configurable: true })
    return answer(request)
  })

const API = '/v1/'
