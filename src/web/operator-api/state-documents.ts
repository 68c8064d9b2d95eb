/** Holds, upstreams and nodes as the operator's API shows them. Rules: operator-api.md "Documents". */

import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { toExactUsdText, ZERO } from '../../core/money.ts'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { NodeReport } from '../../ledger/nodes.ts'
import type { UpstreamReport } from '../../upstream/member.ts'
import { AT, AT_OR_NULL, EXACT, ID, orNull, PAGING, sent } from './shapes.ts'

export const HOLD = t.Object(
  {
    request_id: t.String(),
    account_id: t.String(),
    key_id: t.String(),
    model: t.String(),
    stream: t.Boolean(),
    amount_usd: EXACT('what is reserved'),
    started_at: AT('when the request began'),
  },
  { title: 'Hold', description: 'What a request in flight has reserved' },
)
const LINE = t.Object({
  model: t.String(),
  breaker: t.String({ enum: ['closed', 'open', 'half-open'] }),
  probe_in_ms: orNull(Type.Integer()),
  first_event_ms: orNull(Type.Integer()),
})
const UPSTREAM = t.Object(
  {
    process: orNull(Type.Integer(), 'The id of the process; null: the one that has the ledger’s file'),
    node: orNull(t.String()),
    name: t.String(),
    priority: t.Number(),
    weight: t.Number(),
    in_flight: Type.Integer(),
    waiting: Type.Integer(),
    out: orNull(t.Object({ by: t.String(), reason: t.String(), since: AT('since when') }), 'Who took it out; null: it takes calls'),
    last_failure: orNull(t.Object({ cause: t.String(), model: t.String(), at: AT('when') })),
    lines: t.Array(LINE, { description: 'Each model on it' }),
  },
  { title: 'Upstream', description: 'An upstream as one process sees it' },
)
export const UPSTREAMS = t.Object(
  { data: t.Array(UPSTREAM), unanswered: t.Array(orNull(Type.Integer()), { description: 'Processes that did not say' }) },
  { title: 'Upstreams' },
)
export const ORDERED = t.Object(
  {
    already: t.Boolean({ description: 'It was so before' }),
    in_flight: Type.Integer({ description: 'Calls that go on' }),
    left: Type.Integer({ description: 'Upstreams that take calls' }),
    unanswered: t.Array(orNull(Type.Integer()), { description: 'Processes that did not answer' }),
  },
  { title: 'UpstreamOrdered' },
)
const NODE = t.Object(
  {
    lane: Type.Integer(),
    state: t.String({ enum: ['running', 'silent', 'lost', 'free'] }),
    name: orNull(t.String()),
    since: AT_OR_NULL('its start'),
    last_heartbeat: AT_OR_NULL('when it was last heard of'),
    lease_until: AT_OR_NULL('how long it keeps what it holds'),
    requests: orNull(Type.Integer()),
    leased_usd: EXACT('what is leased to it'),
    facts: t.Record(t.String(), t.String()),
  },
  { title: 'Node', description: 'A process that writes the ledger' },
)
export const NODES = t.Object(
  { data: t.Array(NODE), differs: t.Array(t.String(), { description: 'In what they differ' }) },
  { title: 'Nodes' },
)
export const HOLDS = sent({ ...PAGING, account_id: t.Optional(ID), key_id: t.Optional(ID) })

export const holdDocument = ({ requestId, accountId, keyId, modelId, isStream, amountPicos, startedAt }: Hold) => ({
  request_id: requestId,
  account_id: accountId,
  key_id: keyId,
  model: modelId,
  stream: isStream,
  amount_usd: toExactUsdText(amountPicos),
  started_at: isoTime(startedAt),
})

export const upstreamDocument = (process: number | null, node: string | null, report: UpstreamReport) => ({
  process,
  node,
  name: report.name,
  priority: report.priority,
  weight: report.weight,
  in_flight: report.running,
  waiting: report.waiting,
  out: report.out && { by: report.out.by, reason: report.out.reason, since: isoTime(report.out.at) },
  last_failure: report.lastFailure && {
    cause: report.lastFailure.cause,
    model: report.lastFailure.model,
    at: isoTime(report.lastFailure.at),
  },
  lines: report.models.map(({ model, breaker, probeInMs, firstEventMs }) => ({
    model,
    breaker,
    probe_in_ms: probeInMs,
    first_event_ms: firstEventMs === 0 ? null : firstEventMs,
  })),
})

export const nodeDocument = (node: NodeReport) => ({
  lane: node.lane,
  state: node.state,
  name: node.name,
  since: isoTime(node.startedAt),
  last_heartbeat: isoTime(node.beatAt),
  lease_until: isoOrNull(node.leaseUntil ?? null),
  requests: node.requestCount,
  leased_usd: toExactUsdText(node.leasedPicos),
  facts: node.facts,
})

/** A ledger in a file has one writer, which is not told of as a node. */
export const ONE_WRITER = {
  ...{ lane: 0, state: 'running', name: null, since: null, last_heartbeat: null, lease_until: null, requests: null },
  leased_usd: toExactUsdText(ZERO),
  facts: {},
} as const
