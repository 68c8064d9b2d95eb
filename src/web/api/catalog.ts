/** The models, the upstreams that serve them and the limits; and the changes that a reload would make, which is done as it was looked at. Rules: pages.md "Catalog"; operator.md "Reload". */

import { Elysia, t } from 'elysia'
import { snake } from '../../config/difference.ts'
import { priceList } from '../../config/prices.ts'
import type { Model, Plan } from '../../core/catalog.ts'
import { type Picos, picos, toExactUsdText } from '../../core/money.ts'
import type { Rates } from '../../core/pricing.ts'
import { ratesAsSet } from '../../core/token-buckets.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { callerMacro } from './caller.ts'
import { type ConsoleActs, REASON } from './console-acts.ts'
import { whatIf } from './what-if.ts'

const RELOAD = t.Object({ digest: t.String({ maxLength: 100, description: 'Look again at what a reload would change' }), reason: REASON })

export const catalogRoutes = (site: Site, acts: ConsoleActs) => {
  const { reloads } = site
  return new Elysia({ name: 'catalog', prefix: '/console/api' })
    .use(callerMacro(site.people, 'console'))
    .get(
      '/catalog',
      ({ set }) => {
        set.headers['cache-control'] = 'no-store'
        const { file, catalog, limits, upstreams } = site.config()
        const names = upstreams.length === 0 ? ['simulator'] : upstreams.map(({ name }) => name)
        return {
          file: file ?? null,
          models: [...catalog.models.values()].map((model) => modelDocument(model, names)),
          plans: [...catalog.plans.values()].map(planDocument),
          limits: Object.entries(limits).map(([name, value]) => ({ name: snake(name), value })),
        }
      },
      { person: true },
    )
    .get(
      '/catalog/reload',
      ({ set }) => {
        set.headers['cache-control'] = 'no-store'
        return reloads.preview()
      },
      { person: true },
    )
    .post(
      '/catalog/reload',
      async ({ caller, body, status }) => {
        const done = await reloads.reload(body.digest, async (operation) => {
          const noted = await acts.perform(operation, caller, body.reason)
          return noted instanceof Response ? noted : undefined
        })
        switch (done.result) {
          case 'asked':
          case 'already':
            return status(200, { already: done.result === 'already', changes: done.preview.changes.length })
          case 'mistakes':
            return refuse(409, 'The file has mistakes now, so nothing was reloaded. Read it again')
          case 'nothing':
            return refuse(409, 'There is nothing to reload: what the file says is in force')
          case 'stale':
            return refuse(409, 'The file, or what is in force, has changed since you looked, so nothing was reloaded. Read it again')
          case 'not noted':
            return done.refusal
        }
      },
      { person: true, body: RELOAD },
    )
    .get(
      '/catalog/repriced',
      ({ caller, set }) => {
        set.headers['cache-control'] = 'no-store'
        return whatIf(site, caller.person.id)
      },
      { person: true },
    )
}

/** Prices are USD a million tokens, and multipliers of the input price. `upstreams`: those of the model, or all where it names none. */
function modelDocument({ rates, levels, upstreams, ...model }: Model, all: readonly string[]) {
  return {
    id: model.id,
    name: model.displayName,
    ...ratesDocument(rates),
    levels: levels.map(({ abovePromptTokens, rates: atLevel }) => ({ above_prompt_tokens: abovePromptTokens, ...ratesDocument(atLevel) })),
    server_tool_use_usd: toExactUsdText(rates.serverToolUse),
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    bytes_per_token: model.bytesPerToken,
    rejects: [...model.rejects],
    upstreams: upstreams.length > 0 ? [...upstreams] : all.map((name) => ({ name, model: model.upstreamModel })),
  }
}

function ratesDocument(rates: Rates) {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h } = priceList(rates)
  const aMillion = (rate: Picos): string => toExactUsdText(picos(rate * 1_000_000n))
  return {
    input_usd: input,
    output_usd: output,
    ...{ cache_read: cacheRead, cache_read_usd: aMillion(rates.cacheRead) },
    ...{ cache_write: cacheWrite, cache_write_usd: aMillion(rates.cacheWrite5m) },
    ...{ cache_write_1h: cacheWrite1h, cache_write_1h_usd: aMillion(rates.cacheWrite1h) },
  }
}

const planDocument = ({ name, models, maxRequestPicos, rates }: Plan) => ({
  name,
  models: [...models],
  max_request_usd: maxRequestPicos === undefined ? null : toExactUsdText(maxRequestPicos),
  rates: rates === undefined ? null : ratesAsSet(rates),
})
