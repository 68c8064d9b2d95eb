/**
 * The models of the key's plan, in one shape that both vendors' SDKs read. Everything is one page; the cursors are answered so that paginators end.
 * Rules: spec "Endpoints"; product.md "Requests"; wire.md §8.
 */

import { Elysia } from 'elysia'
import { type Model, modelOf, modelsOf } from '../core/catalog.ts'
import type { KeyRecord } from '../core/key.ts'
import { type Picos, picos, toExactUsdText, toUsd, ZERO } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { KeyLimits } from '../relay/key-limits.ts'
import type { World } from '../world.ts'
import { answerSmall, type Finding } from './answers.ts'
import { clientIpOf } from './client-address.ts'
import type { ClientLimits } from './client-limit.ts'
import { identify } from './key.ts'

const LIST = '/v1/models'
const ONE = '/v1/models/{id}'
const TOKENS_PRICED = 1_000_000n

export function modelRoutes(world: World, keyLimits: KeyLimits, clientLimits: ClientLimits) {
  const answer = (route: string, request: Request, clientIp: string, documentFor: (key: KeyRecord) => Finding['document']) =>
    answerSmall(world, route, request, clientIp, async () => {
      const key = await identify(world, clientLimits, request.headers, 'either', clientIp)
      return key instanceof Refusal ? { document: key } : { key, document: keyLimits.count(key.id) ?? documentFor(key) }
    })
  const one = (request: Request, clientIp: string) =>
    answer(ONE, request, clientIp, (key) => {
      const model = modelOf(world.catalog(), key.plan, idOf(request))
      return model === undefined ? new Refusal('notFound') : modelShape(model)
    })
  return new Elysia({ name: 'models' })
    .get('/v1/models', ({ request, server, query }) =>
      answer(LIST, request, clientIpOf(world, request, server), (key) => listOf(modelsOf(world.catalog(), key.plan), query)),
    )
    .get('/v1/models/:id', ({ request, server }) => one(request, clientIpOf(world, request, server)))
    .get('/v1/models/:id/*', ({ request, server }) => one(request, clientIpOf(world, request, server)))
}

/**
 * An id may have any letter, `/` and `%` too, so it is read from the path itself, by hand: `new URL` throws on hosts that Bun lets through (`Host: a]b`).
 * A broken escape is no model's id.
 */
function idOf(request: Request): string {
  const [target = ''] = request.url.split(/[?#]/, 1)
  const path = target.slice(target.indexOf('/', target.indexOf('://') + '://'.length))
  try {
    return decodeURIComponent(path.slice(`${LIST}/`.length))
  } catch {
    return ''
  }
}

/** The vendor's cursors. A `limit` is accepted and not needed. */
type Cursors = Readonly<{ after_id?: string; before_id?: string }>

function listOf(models: readonly Model[], { after_id, before_id }: Cursors): Record<string, unknown> {
  const page = between(models, after_id, before_id)
  return { object: 'list', data: page.map(modelShape), has_more: false, first_id: page.at(0)?.id ?? null, last_id: page.at(-1)?.id ?? null }
}

/** What stands between the cursors; nothing, when a cursor is no model of the list. */
function between(models: readonly Model[], afterId: string | undefined, beforeId: string | undefined): readonly Model[] {
  const indexOf = (id: string): number => models.findIndex((model) => model.id === id)
  const start = afterId === undefined ? 0 : indexOf(afterId) + 1
  const end = beforeId === undefined ? models.length : indexOf(beforeId)
  return (afterId !== undefined && start === 0) || end === -1 ? [] : models.slice(start, end)
}

const modelShape = (model: Model): Record<string, unknown> => ({
  id: model.id,
  object: 'model',
  type: 'model',
  created: model.createdSeconds,
  created_at: `${new Date(model.createdSeconds * 1000).toISOString().slice(0, 19)}Z`,
  owned_by: 'tollgate',
  name: model.displayName,
  display_name: model.displayName,
  max_input_tokens: model.contextWindow,
  max_tokens: model.maxOutputTokens,
  context_length: model.contextWindow,
  pricing: {
    input: usdPerMillion(model.rates.input),
    output: usdPerMillion(model.rates.output),
    cache_read: usdPerMillion(model.rates.cacheRead),
    cache_write: usdPerMillion(model.rates.cacheWrite5m),
    cache_write_1h: usdPerMillion(model.rates.cacheWrite1h),
    ...(model.rates.serverToolUse === ZERO ? {} : { server_tool_use: toUsd(model.rates.serverToolUse) }),
  },
})

/** USD for a million tokens, as price lists say it. */
const usdPerMillion = (rate: Picos): number => Number(toExactUsdText(picos(rate * TOKENS_PRICED)))
