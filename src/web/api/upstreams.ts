/** Upstreams for operators: host and state, and taking one out or putting it back by the command's operation. Rules: pages.md "Upstreams"; pool.md "Taking one out". */

import { Elysia, t } from 'elysia'
import type { Moment } from '../../operator/moment.ts'
import type { OrderResult } from '../../operator/order-everywhere.ts'
import { orderFromWithin } from '../../operator/order-from-within.ts'
import type { UpstreamReport } from '../../upstream/member.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'

const REASON_CHARS_MAX = 500

const ORDER = t.Object({
  is_out: t.Boolean({ description: 'Whether it is to be out' }),
  reason: t.Optional(t.String({ maxLength: REASON_CHARS_MAX, description: `A reason has at most ${REASON_CHARS_MAX} characters` })),
})

export const upstreamRoutes = (site: Site) =>
  new Elysia({ name: 'upstreams', prefix: '/console/api' })
    .use(callerMacro(site.people, 'console'))
    .get(
      '/upstreams',
      ({ set }) => {
        set.headers['cache-control'] = 'no-store'
        return { data: documentsOf(site) }
      },
      { person: true },
    )
    .post(
      '/upstreams/:name/state',
      async ({ params, body, caller, status }) => {
        if (!site.upstreams.reports().some(({ name }) => name === params.name)) return missing()
        const result = await order(site, caller, params.name, body.is_out, body.reason ?? '')
        if (result.result === 'refused') return refuse(409, result.problem)
        if (result.result === 'unavailable')
          return refuse(503, 'The ledger could not write the audit log, so nothing was changed. Try again')
        const unanswered = result.silent.map(({ pid }) => pid)
        return status(200, { already: !result.isNew, in_flight: result.running, left: result.left, unanswered })
      },
      { person: true, body: ORDER },
    )

const order = (
  { upstreams, world, config }: Site,
  { actor, address }: Caller,
  upstream: string,
  isOut: boolean,
  reason: string,
): Promise<OrderResult> => {
  const wish = { upstream, isOut, act: { actor, address, reason: reason.trim() }, now: world.clock.now() }
  return orderFromWithin(config().ledger, wish, { upstreams, ledger: world.ledger })
}

const documentsOf = (site: Site) => {
  const moment = site.moment()
  return moment.upstreams.map((report) => documentOf(site, moment, report))
}

/** An upstream for the page, which gets the host of its address only, and nothing of the key. */
function documentOf(
  { config, world, upstreams }: Site,
  { processes, lastAnswers }: Moment,
  { name, priority, weight, running, waiting, out, lastFailure, models }: UpstreamReport,
) {
  const configured = config().upstreams.find((one) => one.name === name)
  const member = upstreams.members().find((one) => one.name === name)
  const answeredAt = lastAnswers[name]
  const most = member?.config.maxConcurrent
  const served = [...world.catalog().models.values()].flatMap((model) => {
    const here = model.upstreams.length === 0 ? { name, model: model.upstreamModel } : model.upstreams.find((one) => one.name === name)
    return here === undefined ? [] : [{ id: model.id, upstream_model: here.model }]
  })
  return {
    name,
    host: configured === undefined ? null : new URL(configured.baseUrl).host,
    transport: configured?.transport ?? null,
    priority,
    weight,
    in_flight: running,
    waiting,
    max_concurrent: most !== undefined && Number.isFinite(most) ? most * processes : null,
    out: out && { by: out.by, reason: out.reason, since: isoOf(out.at) },
    last_answer: answeredAt === undefined ? null : isoOf(answeredAt),
    last_failure: lastFailure && { cause: lastFailure.cause, model: lastFailure.model, at: isoOf(lastFailure.at) },
    models: served,
    lines: models.map(({ model, breaker, probeInMs, firstEventMs, share }) => ({
      model,
      breaker,
      probe_in_ms: probeInMs,
      first_event_ms: firstEventMs === 0 ? null : firstEventMs,
      share,
    })),
  }
}

const isoOf = (time: number): string => new Date(time).toISOString()
