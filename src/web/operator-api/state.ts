/**
 * What a gateway does now, over the operator's API: what is reserved, its upstreams, the nodes of its ledger. All processes of this place are asked, as the command line asks
 * them. Rules: operator-api.md "Documents"; operator.md "Processes"; pool.md "Taking one out".
 */

import { Elysia, type Static } from 'elysia'
import { differencesAmong, differenceText } from '../../core/node-facts.ts'
import { pageOf } from '../../ledger/reading/page.ts'
import { callersAmong, holdsThroughSockets, upstreamsThroughSockets } from '../../operator/ask-gateways.ts'
import { holdsPage } from '../../operator/holds-page.ts'
import { orderFromWithin } from '../../operator/order-from-within.ts'
import { socketsOf } from '../../operator/socket-files.ts'
import { leftOf } from '../../operator/upstreams.ts'
import { actOf, failureOf } from './acts.ts'
import type { ApiCaller } from './caller.ts'
import { answer, busy, ERRORS, Failure, missing } from './failure.ts'
import type { Parts } from './parts.ts'
import { onlyOf } from './reach.ts'
import { listDocument, listOf, noCursor, pagingOf, WHY } from './shapes.ts'
import { HOLD, HOLDS, holdDocument, NODES, nodeDocument, ONE_WRITER, ORDERED, UPSTREAMS, upstreamDocument } from './state-documents.ts'

type Ordered = Static<typeof ORDERED>

function stateActs({ site, world, acts: { ask, perform } }: Parts) {
  const { config, upstreams } = site
  const { ledger, clock } = world
  const holds = async (caller: ApiCaller, { account_id, key_id, ...paged }: Static<typeof HOLDS>) => {
    const { limit, after: cursor } = { after: undefined, ...pagingOf(paged) }
    const of = await onlyOf(ask, caller, { account_id, key_id })
    if (of instanceof Failure) return of
    if (cursor !== undefined && !/^req_\w{1,60}$/.test(cursor)) return noCursor()
    const query = { keyId: of.keyId ?? null, accountId: of.accountId ?? null, after: cursor ?? null, limit: limit + 1 }
    const there = await holdsThroughSockets(config().ledger, query)
    const marked = await ask<'checkpoints'>(caller, { kind: 'checkpoints', ...query })
    if (marked instanceof Failure) return marked
    // On a file a checkpoint of an ended process is none that is held.
    const all = config().ledger.kind === 'postgres' ? [...marked, ...there.holds] : there.holds
    return listDocument(
      pageOf(holdsPage(all, query), limit, ({ requestId }) => requestId),
      holdDocument,
    )
  }
  const upstreamsNow = async () => {
    const replies = callersAmong(await upstreamsThroughSockets(socketsOf(config().ledger)))
    return {
      data: replies.flatMap(({ socket, said }) =>
        said === 'silent' ? [] : said.reports.map((report) => upstreamDocument(socket.pid, said.node, report)),
      ),
      unanswered: replies.flatMap(({ socket, said }) => (said === 'silent' ? [socket.pid] : [])),
    } satisfies Static<typeof UPSTREAMS>
  }
  const order = async (caller: ApiCaller, upstream: string, isOut: boolean, reason: string | undefined) => {
    const act = actOf(caller, reason)
    if (act instanceof Failure) return act
    if (!upstreams.reports().some(({ name }) => name === upstream)) {
      // A reload may have taken away what the first write under the same header switched.
      const done = await perform(caller, { kind: 'setUpstreamOut', upstream, isOut, now: clock.now() }, reason, missing())
      return done instanceof Failure ? done : ({ already: true, in_flight: 0, left: leftOf(upstreams), unanswered: [] } satisfies Ordered)
    }
    const result = await orderFromWithin(config().ledger, { upstream, isOut, act, now: clock.now() }, { upstreams, ledger })
    if (result.result === 'refused') return failureOf(result)
    if (result.result === 'unavailable') return busy('The ledger could not write the audit log, so nothing was changed; retry later')
    const { isNew, running, left, silent } = result
    return { already: !isNew, in_flight: running, left, unanswered: silent.map(({ pid }) => pid) } satisfies Ordered
  }
  const nodes = async (caller: ApiCaller) => {
    if (config().ledger.kind === 'sqlite') return { data: [ONE_WRITER], differs: [] }
    const found = await ask<'nodes'>(caller, { kind: 'nodes' })
    if (found instanceof Failure) return found
    const living = found.filter(({ state }) => state === 'running' || state === 'silent')
    return { data: found.map(nodeDocument), differs: differencesAmong(living).map(differenceText) }
  }
  return { holds, upstreamsNow, order, nodes }
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Gateway'], summary, description })
const LOOKS = { scope: 'read', reach: 'gateway' } as const
const ORDERS = { scope: 'all', reach: 'gateway' } as const

export function stateRoutes(parts: Parts) {
  const { holds, upstreamsNow, order, nodes } = stateActs(parts)
  return new Elysia({ name: 'operator api state' })
    .use(parts.macro)
    .get('/holds', async ({ caller, query }) => answer(await holds(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: HOLDS,
      response: { 200: listOf(HOLD, 'HoldList'), ...ERRORS },
      detail: detail(
        'listHolds',
        'List holds',
        'What requests in flight have reserved, oldest first, in all processes of this machine; on Postgres also elsewhere.',
      ),
    })
    .get('/upstreams', async () => answer(await upstreamsNow()), {
      token: LOOKS,
      response: { 200: UPSTREAMS, ...ERRORS },
      detail: detail('listUpstreams', 'List upstreams', 'How each process of this machine sees them.'),
    })
    .post('/upstreams/:name/out', async ({ caller, params, body: { reason } }) => answer(await order(caller, params.name, true, reason)), {
      token: ORDERS,
      body: WHY,
      response: { 200: ORDERED, ...ERRORS },
      detail: detail('takeUpstreamOut', 'Take an upstream out', 'What runs goes on to its end, nothing new begins.'),
    })
    .post('/upstreams/:name/in', async ({ caller, params, body: { reason } }) => answer(await order(caller, params.name, false, reason)), {
      token: ORDERS,
      body: WHY,
      response: { 200: ORDERED, ...ERRORS },
      detail: detail('putUpstreamIn', 'Put an upstream back', 'It takes calls again.'),
    })
    .get('/nodes', async ({ caller }) => answer(await nodes(caller)), {
      token: LOOKS,
      response: { 200: NODES, ...ERRORS },
      detail: detail('listNodes', 'List nodes', 'The processes that write the ledger, and in what they differ.'),
    })
}
