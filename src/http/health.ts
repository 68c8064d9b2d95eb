/**
 * Tells whether the process lives, whether it takes requests, and its metrics: the first two on both listeners, the metrics on the operator's only. Probes come every
 * second and are not logged. Rules: operator.md "Health".
 */

import { Elysia, type Static, t } from 'elysia'
import type { World } from '../world.ts'
import { absoluteUrl } from './absolute-url.ts'
import { answerJson } from './answers.ts'
import { operateRoutes } from './operate-docs.ts'
import { refusals } from './refusals.ts'

const LIVE = t.Object({ status: t.Literal('ok') }, { title: 'Live', description: 'All is well' })
const DIFFERS = t.Optional(
  t.Array(t.String(), { description: 'In what the nodes that share the ledger differ; absent: in nothing that is known' }),
)
const READY = t.Object({ status: t.Literal('ok'), differs: DIFFERS }, { title: 'Ready', description: 'It takes requests' })
const NOT_READY = t.Object(
  {
    status: t.Union([
      t.Literal('draining'),
      t.Literal('ledger is not writable'),
      t.Literal('node is not heard of by Postgres'),
      t.Literal('ledger process is away'),
      t.Literal('ledger is damaged'),
    ]),
    differs: DIFFERS,
  },
  { title: 'NotReady', description: 'Send new requests elsewhere' },
)
type NotReady = Static<typeof NOT_READY>['status']

/**
 * `/livez`: 200 while the process answers. `/readyz`: 503 while the process drains, cannot write, is not heard of by the nodes that share its ledger, or knows that the
 * ledger is damaged, so that a load balancer looks elsewhere.
 */
export const publicHealth = (world: World) =>
  new Elysia({ name: 'health' })
    .get('/livez', () => answerJson({ status: 'ok' }, 200, idsOf(world.requestId())), {
      response: { 200: LIVE },
      detail: { operationId: 'getLiveness', tags: ['Health'], summary: 'Is it alive?', description: '200 while the process answers.' },
    })
    .get(
      '/readyz',
      () => {
        const status = readiness(world)
        return answerJson({ status, ...differing(world) }, status === 'ok' ? 200 : 503, idsOf(world.requestId()))
      },
      {
        response: { 200: READY, 503: NOT_READY },
        detail: {
          operationId: 'getReadiness',
          tags: ['Health'],
          summary: 'Does it take requests?',
          description:
            '503 while it shuts down, cannot write its ledger, may not because its database has not heard of it, or has found it damaged, so that a load balancer looks elsewhere.',
        },
      },
    )

/** The whole application of the operator's listener. */
export const operatorApp = (world: World) =>
  new Elysia({ name: 'operator', strictPath: true, handler: { standardHostname: false } })
    .use(absoluteUrl())
    .use(refusals(world))
    .use(publicHealth(world))
    .use(operateRoutes(world))
    .get('/metrics', async () => new Response(await world.metrics.render(), { headers: { 'content-type': world.metrics.contentType } }))

function readiness(world: World): 'ok' | NotReady {
  if (world.isLeaving()) return 'draining'
  if (!world.ledger.isSound()) return 'ledger is damaged'
  if (!world.ledger.mayAdmit()) return world.isRelay() ? 'ledger process is away' : 'node is not heard of by Postgres'
  return world.ledger.isWritable() ? 'ok' : 'ledger is not writable'
}

/** What differs between the nodes. A difference makes no node unready: while a change is rolled out, all of them differ. */
function differing(world: World): Readonly<{ differs?: string[] }> {
  const differences = world.nodeDifferences()
  return differences.length === 0 ? {} : { differs: differences.map(({ what }) => what) }
}

const idsOf = (requestId: string): Record<string, string> => ({ 'x-request-id': requestId, 'request-id': requestId })
