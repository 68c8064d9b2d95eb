/** The models, the upstreams that serve them and the limits; and the changes that a reload would make, without making them. Rules: pages.md "Catalog"; operator.md "Reload". */

import { Elysia } from 'elysia'
import { differences, snake } from '../../config/difference.ts'
import { priceList } from '../../config/prices.ts'
import { reloadable } from '../../config/reloadable.ts'
import type { Model, Plan } from '../../core/catalog.ts'
import { toExactUsdText } from '../../core/money.ts'
import type { Rates } from '../../core/pricing.ts'
import { ratesAsSet } from '../../core/token-buckets.ts'
import type { Site } from '../site.ts'
import { callerMacro } from './caller.ts'
import { whatIf } from './what-if.ts'

export const catalogRoutes = (site: Site) =>
  new Elysia({ name: 'catalog', prefix: '/console/api' })
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
        return previewOf(site)
      },
      { person: true },
    )
    .get(
      '/catalog/repriced',
      ({ caller, set }) => {
        set.headers['cache-control'] = 'no-store'
        return whatIf(site, caller.person.id)
      },
      { person: true },
    )

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
  return { input_usd: input, output_usd: output, cache_read: cacheRead, cache_write: cacheWrite, cache_write_1h: cacheWrite1h }
}

const planDocument = ({ name, models, maxRequestPicos, rates }: Plan) => ({
  name,
  models: [...models],
  max_request_usd: maxRequestPicos === undefined ? null : toExactUsdText(maxRequestPicos),
  rates: rates === undefined ? null : ratesAsSet(rates),
})

/** `problems`: mistakes, because of which a reload would change nothing. `needs_restart`: changed settings that a reload leaves as they were. */
export function previewOf({ config, readConfig }: Pick<Site, 'config' | 'readConfig'>) {
  const read = readConfig()
  if ('problems' in read)
    return { file: read.file ?? null, problems: [...read.problems], changes: [], needs_restart: [], without_effect: [] }
  const { config: taken, ignored } = reloadable(config(), read)
  return {
    file: read.file ?? null,
    problems: [],
    changes: [...differences(config(), taken)],
    needs_restart: ignored,
    without_effect: [...read.withoutEffect],
  }
}
