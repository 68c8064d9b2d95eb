/**
 * The file's models and plans as the catalogue that requests are checked against, with the checks between its entries.
 * Rules: money.md "Prices"; operator.md "Configuration".
 */

import { type Catalog, DEFAULT_PLAN, type Model, type Plan } from '../core/catalog.ts'
import { parseUsd, ZERO } from '../core/money.ts'
import { rateLimitsOf } from '../core/token-buckets.ts'
import { type Budgets, PERS } from '../core/windows.ts'
import type { ModelEntry, PlanEntry, UpstreamEntry } from './catalog-schema.ts'
import { costsOf } from './costs.ts'
import { BYTES_PER_TOKEN, SAMPLE_MODELS } from './defaults.ts'
import { pricesOf } from './prices.ts'
import { type ConfigProblem, describe } from './problems.ts'
import type { ConfigFile } from './schema.ts'
import { servedByOf } from './served-by.ts'

/** `problems` gets every mistake; with one the catalogue is not to be used. */
export function makeCatalog(file: ConfigFile, problems: ConfigProblem[]): Catalog {
  const upstreams = file.upstreams ?? []
  const models = new Map<string, Model>()
  for (const [index, entry] of (file.models ?? SAMPLE_MODELS).entries()) {
    const path = `models[${index}]`
    if (models.has(entry.id)) problems.push({ path: `${path}.id`, message: `expected each id once, found ${describe(entry.id)} again` })
    const model = modelOfEntry(entry, path, upstreams, problems)
    models.set(entry.id, model)
  }
  return { models, plans: plansOf(file, models, problems) }
}

function modelOfEntry(entry: ModelEntry, path: string, all: readonly UpstreamEntry[], problems: ConfigProblem[]): Model {
  const { upstreams, isNative, chat } = servedByOf(entry, path, all, problems)
  const prices = pricesOf(entry, path, problems)
  const known = SAMPLE_MODELS.find(({ id }) => id === entry.id || id === entry.upstream_model)
  return {
    id: entry.id,
    displayName: known?.id === entry.id ? known.displayName : entry.id,
    upstreamModel: upstreams[0]?.model ?? entry.upstream_model ?? entry.id,
    upstreams,
    isNative,
    chat,
    ...(all.some(({ kind }) => kind === 'openai') ? { mayMeetOwnThinking: true } : {}),
    ...prices,
    ...costsOf(entry, path, prices, all, problems),
    contextWindow: entry.context_window,
    maxOutputTokens: entry.max_output_tokens,
    bytesPerToken: entry.bytes_per_token ?? BYTES_PER_TOKEN,
    createdSeconds: known === undefined ? 0 : Date.parse(`${known.created}T00:00:00Z`) / 1000,
    rejects: new Set(entry.rejects),
  }
}

function plansOf(file: ConfigFile, models: ReadonlyMap<string, Model>, problems: ConfigProblem[]): ReadonlyMap<string, Plan> {
  const plans = new Map<string, Plan>([[DEFAULT_PLAN, { name: DEFAULT_PLAN, models: ['*'] }]])
  for (const [name, plan] of Object.entries(file.plans ?? {})) {
    for (const [index, pattern] of plan.models.entries()) {
      const message = patternProblem(pattern, models)
      if (message !== undefined) problems.push({ path: `plans.${name}.models[${index}]`, message })
    }
    const cap = plan.max_request_usd === undefined ? undefined : parseUsd(plan.max_request_usd)
    if (cap === ZERO) problems.push({ path: `plans.${name}.max_request_usd`, message: 'expected more than 0: no request costs nothing' })
    const rates = ratesOf(plan)
    const budgets = budgetsOfPlan(plan.budgets ?? [], `plans.${name}.budgets`, problems)
    plans.set(name, {
      name,
      models: plan.models,
      ...(cap === undefined ? {} : { maxRequestPicos: cap }),
      ...(rates === undefined ? {} : { rates }),
      ...(budgets.length === 0 ? {} : { budgets }),
    })
  }
  return plans
}

const ratesOf = (plan: PlanEntry) =>
  rateLimitsOf({
    requestsPerMinute: plan.requests_per_minute,
    inputTokensPerMinute: plan.input_tokens_per_minute,
    outputTokensPerMinute: plan.output_tokens_per_minute,
    concurrentRequests: plan.concurrent_requests,
  })

/** In the order of `PERS`, each window once. */
function budgetsOfPlan(entries: NonNullable<PlanEntry['budgets']>, path: string, problems: ConfigProblem[]): Budgets {
  for (const [index, { per }] of entries.entries()) {
    if (entries.findIndex((entry) => entry.per === per) === index) continue
    problems.push({ path: `${path}[${index}].per`, message: `expected each window once, found ${describe(per)} again` })
  }
  return PERS.flatMap((per) => entries.filter((entry) => entry.per === per).map(({ usd }) => ({ per, capPicos: parseUsd(usd) ?? ZERO })))
}

function patternProblem(pattern: string, models: ReadonlyMap<string, Model>): string | undefined {
  const star = pattern.indexOf('*')
  if (star !== -1 && star !== pattern.length - 1) return `expected "*" at the end only, found ${describe(pattern)}`
  const isFound = star === -1 ? models.has(pattern) : [...models.keys()].some((id) => id.startsWith(pattern.slice(0, -1)))
  return isFound ? undefined : `expected a model id or a prefix of one with "*", found ${describe(pattern)}, which matches no model`
}
