/** Models, plans and what a key may use of them. Rules: requests.md "Models"; native.md "What models refuse". */

import type { ChatDialect } from './chat-dialect.ts'
import type { Picos } from './money.ts'
import type { Prices } from './pricing.ts'
import type { RateLimits } from './token-buckets.ts'
import type { UpstreamCost } from './upstream-cost.ts'
import { type Budgets, NO_BUDGETS } from './windows.ts'

/** The features that a model's upstream may refuse, so that the translated formats adapt instead of failing. A model without any accepts all of them. */
export const REJECTIONS = [
  'sampling', // temperature, top_p, top_k
  'tools',
  'tool_choice', // every tool_choice
  'forced_tool_choice', // any, tool: downgraded to auto
  'manual_thinking', // thinking.type "enabled"
  'adaptive_thinking', // thinking.type "adaptive"
  'disabled_thinking', // thinking.type "disabled"
  'between_tools_thinking', // thinking.type "between_tools"
  'effort', // output_config.effort
  'xhigh_effort', // effort "xhigh"; "max" is used instead
  'assistant_first', // a conversation that begins with an assistant turn: the gateway puts a user turn before it
  'images',
  'documents',
  'system', // system prompts: they become the first user turn's beginning
  'parallel_tools', // the choice whether several tools are called at once
  'betas', // anthropic-beta tokens
  'versions', // any anthropic-version but 2023-06-01
] as const
export type Rejection = (typeof REJECTIONS)[number]

export type Model = Prices &
  Readonly<{
    /** Public id, as clients name it. */
    id: string
    displayName: string
    /** The id that the body of a call names the model by: the one that its first upstream knows. */
    upstreamModel: string
    /** The upstreams that serve the model, in the order of the configuration; empty: all. */
    upstreams: readonly UpstreamModel[]
    /** What its upstreams charge us, by their names; of any other that is not known. */
    costs?: ReadonlyMap<string, UpstreamCost>
    /** False: none of its upstreams takes native requests. */
    isNative: boolean
    /** The dialects of its upstreams that take chat requests, each dialect once. */
    chat: readonly ChatDialect[]
    /** Another model of this gateway is served in chat, so a conversation may bring thinking that such a server wrote. */
    mayMeetOwnThinking?: boolean
    contextWindow: number
    maxOutputTokens: number
    /** Used for estimates, where an upstream gives no figure. */
    bytesPerToken: number
    /** Unix seconds, for the models list. */
    createdSeconds: number
    rejects: ReadonlySet<Rejection>
  }>

/** An upstream by its name, and the id under which it knows the model. `dialect`: the index in the model's `chat` of the dialect that it speaks; absent: it speaks native. */
export type UpstreamModel = Readonly<{ name: string; model: string; dialect?: number }>

/** The plan of keys that are given none. Every catalogue has it. */
export const DEFAULT_PLAN = 'default'

/** `maxRequestPicos`: the most that one request may cost; absent: no limit. `rates`, `budgets`: of an account over all its keys of the plan; absent: none. */
export type Plan = Readonly<{ name: string; models: readonly string[]; maxRequestPicos?: Picos; rates?: RateLimits; budgets?: Budgets }>

export type Catalog = Readonly<{
  models: ReadonlyMap<string, Model>
  plans: ReadonlyMap<string, Plan>
}>

/** The model that a plan may use under this id. Unknown and excluded models look alike, so that a key cannot probe the catalogue. */
export function modelOf(catalog: Catalog, planName: string, id: string): Model | undefined {
  const model = catalog.models.get(id)
  const plan = catalog.plans.get(planName)
  return model !== undefined && plan !== undefined && includes(plan, id) ? model : undefined
}

/** A plan's models, newest first. */
export function modelsOf(catalog: Catalog, planName: string): readonly Model[] {
  const plan = catalog.plans.get(planName)
  if (plan === undefined) return []
  return [...catalog.models.values()].filter((model) => includes(plan, model.id)).sort((a, b) => b.createdSeconds - a.createdSeconds)
}

/** The budgets of a plan, in the order of `PERS`. */
export const budgetsOf = (catalog: Catalog, planName: string): Budgets => catalog.plans.get(planName)?.budgets ?? NO_BUDGETS

/** A plan names models by id or by a prefix that ends in `*`. */
const includes = (plan: Plan, id: string): boolean =>
  plan.models.some((pattern) => (pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : pattern === id))

/** The plans whose budgets hold for an account, whichever of its keys spends. */
export const plansWithBudgets = ({ plans }: Catalog): readonly string[] =>
  [...plans.values()].flatMap(({ name, budgets = [] }) => (budgets.length === 0 ? [] : [name]))
