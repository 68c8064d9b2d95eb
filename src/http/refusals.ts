/**
 * Answers requests that no route answers: an unknown path or method is the contract's 404; a bug is our 500, and ends one request only. The hook names neither the body
 * nor the whole context, either of which would make Elysia read the body. Rules: contract.md "Errors"; platform.md "Elysia".
 */

import { Elysia } from 'elysia'
import { Refusal } from '../core/refusal.ts'
import { describeBug } from '../observe/bug.ts'
import { Exchange } from '../relay/exchange.ts'
import { refuseAfterBody } from '../relay/refuse-after-body.ts'
import type { World } from '../world.ts'
import { pathOf } from './answers.ts'
import { Client } from './client-address.ts'

export const refusals = (world: World) =>
  new Elysia({ name: 'refusals' }).onError({ as: 'global' }, ({ code, error, request, server }) => {
    // A wrong query is answered by the key macro, which asks for the key first.
    if (code === 'VALIDATION') return undefined
    const exchange = new Exchange(world, 'unknown')
    const isBug = code !== 'NOT_FOUND'
    if (isBug) world.log.alarm('a route failed by a bug', { request_id: exchange.requestId, ...describeBug(error) })
    const refusal = new Refusal(isBug ? 'internal' : 'notFound')
    const asked = { client: new Client(world, request, server).ip, ...(isBug ? {} : { path: pathOf(request) }) }
    return refuseAfterBody(request, () => exchange.refuse(refusal, request.headers.get('origin'), asked))
  })
