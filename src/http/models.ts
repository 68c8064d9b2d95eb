/**
 * The models of the key's plan, in one shape that both vendors' SDKs read. Everything is one page; the cursors are answered so that paginators end.
 * Rules: contract.md "Endpoints"; requests.md "Model list".
 */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { type Model, modelOf, modelsOf, type Rejection } from '../core/catalog.ts'
import { FORMAT_NAMES } from '../core/format.ts'
import { type Picos, picos, toExactUsdText, toUsd, ZERO } from '../core/money.ts'
import type { Rates } from '../core/pricing.ts'
import { Refusal } from '../core/refusal.ts'
import { pathOf } from '../relay/request-target.ts'
import type { World } from '../world.ts'
import { type Asker, answerSmall } from './answers.ts'
import { KEY_HEADERS, type keyMacro } from './key.ts'

const LIST = '/v1/models'
const TOKENS_PRICED = 1_000_000n

const price = (description: string) => t.Number({ description: `USD per million ${description}` })

const RATE_FIELDS = {
  input: price('input tokens'),
  output: price('output tokens'),
  cache_read: price('tokens read from the prompt cache'),
  cache_write: price('tokens written to the prompt cache for 5 minutes'),
  cache_write_1h: price('tokens written to the prompt cache for 1 hour'),
}

const MODEL = t.Object(
  {
    id: t.String({ description: 'What a request names in `model`' }),
    object: t.Literal('model'),
    type: t.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds' }),
    created_at: t.String({ format: 'date-time' }),
    owned_by: t.String(),
    name: t.String(),
    display_name: t.String(),
    max_input_tokens: Type.Integer({ description: 'The context window' }),
    max_tokens: Type.Integer({ description: 'The longest answer' }),
    max_output_tokens: Type.Integer({ description: 'The longest answer' }),
    context_length: Type.Integer({ description: 'The context window' }),
    max_model_len: Type.Integer({ description: 'The context window' }),
    formats: t.Array(t.String(), { description: 'In which it may be asked' }),
    upstream_formats: t.Array(t.String(), { description: '`native`, `chat`: what the servers behind it speak' }),
    architecture: t.Object({ input_modalities: t.Array(t.String()), output_modalities: t.Array(t.String()) }),
    input_cost_per_token: t.Number({ description: 'USD' }),
    output_cost_per_token: t.Number({ description: 'USD' }),
    cache_read_input_token_cost: t.Number({ description: 'USD' }),
    cache_creation_input_token_cost: t.Number({ description: 'USD' }),
    pricing: t.Object({
      ...RATE_FIELDS,
      server_tool_use: t.Optional(t.Number({ description: 'USD per use of a tool that runs upstream; left out when such use is free' })),
      levels: t.Optional(
        t.Array(
          t.Object({ above_prompt_tokens: Type.Integer({ description: 'Input, cache reads and cache writes together' }), ...RATE_FIELDS }),
          {
            description:
              'The prices of a whole request whose prompt is longer, the highest level that it is above; left out when there are none',
          },
        ),
      ),
    }),
  },
  { title: 'Model', description: 'A model in the shape that the SDKs of both vendors read' },
)

const MODEL_LIST = t.Object(
  {
    object: t.Literal('list'),
    data: t.Array(MODEL, { description: 'Newest first' }),
    has_more: t.Literal(false, { description: 'Everything is one page' }),
    first_id: t.Union([t.String(), t.Null()]),
    last_id: t.Union([t.String(), t.Null()]),
  },
  { title: 'ModelList', description: 'The models that the key’s plan allows' },
)

/**
 * The vendor's cursors. A `limit` is checked and has no effect, since everything is one page. It is a pattern, since Elysia's own integers lose the field's name when
 * they fail.
 */
const CURSORS = t.Object({
  after_id: t.Optional(t.String({ description: 'Only what stands after this model' })),
  before_id: t.Optional(t.String({ description: 'Only what stands before this model' })),
  limit: t.Optional(t.String({ pattern: '^[1-9][0-9]*$', description: 'a whole number, 1 or more' })),
})

export function modelRoutes(world: World, macro: ReturnType<typeof keyMacro>) {
  const one = (asker: Asker): Promise<Response> =>
    answerSmall(asker, (key) => {
      const model = modelOf(world.catalog(), key.plan, idOf(asker.request))
      return model === undefined ? new Refusal('notFound') : modelShape(model)
    })
  return new Elysia({ name: 'models' })
    .use(macro)
    .get('/v1/models', ({ asker, query }) => answerSmall(asker, (key) => listOf(modelsOf(world.catalog(), key.plan), query)), {
      key: 'models',
      headers: KEY_HEADERS.either,
      query: CURSORS,
      response: { 200: MODEL_LIST },
      detail: {
        operationId: 'listModels',
        tags: ['Models'],
        summary: 'List models',
        description: 'The models of the key’s plan. Paginators of both vendors’ SDKs end after this one page.',
      },
    })
    .get('/v1/models/:id', ({ asker }) => one(asker), {
      key: 'models',
      headers: KEY_HEADERS.either,
      response: { 200: MODEL },
      detail: {
        operationId: 'retrieveModel',
        tags: ['Models'],
        summary: 'Retrieve a model',
        description: 'One model of the key’s plan. An id may contain slashes, written as they are or as `%2F`.',
      },
    })
    .get('/v1/models/:id/*', ({ asker }) => one(asker), { key: 'models', headers: KEY_HEADERS.either, detail: { hide: true } })
}

/** Reads the id from the path itself, since an id may have any letter, `/` and `%` too. A broken escape is no model's id. */
function idOf(request: Request): string {
  try {
    return decodeURIComponent(pathOf(request.url).slice(`${LIST}/`.length))
  } catch {
    return ''
  }
}

function listOf(models: readonly Model[], { after_id, before_id }: Static<typeof CURSORS>): Static<typeof MODEL_LIST> {
  const page = between(models, after_id, before_id)
  return { object: 'list', data: page.map(modelShape), has_more: false, first_id: page.at(0)?.id ?? null, last_id: page.at(-1)?.id ?? null }
}

/** The models between the cursors; none where a cursor is no model of the list. */
function between(models: readonly Model[], afterId: string | undefined, beforeId: string | undefined): readonly Model[] {
  const indexOf = (id: string): number => models.findIndex((model) => model.id === id)
  const start = afterId === undefined ? 0 : indexOf(afterId) + 1
  const end = beforeId === undefined ? models.length : indexOf(beforeId)
  return (afterId !== undefined && start === 0) || end === -1 ? [] : models.slice(start, end)
}

const modelShape = (model: Model): Static<typeof MODEL> => ({
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
  max_output_tokens: model.maxOutputTokens,
  context_length: model.contextWindow,
  max_model_len: model.contextWindow,
  formats: [...FORMAT_NAMES],
  upstream_formats: [...(model.isNative ? ['native'] : []), ...(model.chat.length > 0 ? ['chat'] : [])],
  architecture: { input_modalities: inputsOf(model), output_modalities: ['text'] },
  input_cost_per_token: usdOf(model.rates.input),
  output_cost_per_token: usdOf(model.rates.output),
  cache_read_input_token_cost: usdOf(model.rates.cacheRead),
  cache_creation_input_token_cost: usdOf(model.rates.cacheWrite5m),
  pricing: {
    ...ratesShape(model.rates),
    ...(model.rates.serverToolUse === ZERO ? {} : { server_tool_use: toUsd(model.rates.serverToolUse) }),
    ...(model.levels.length === 0
      ? {}
      : { levels: model.levels.map(({ abovePromptTokens, rates }) => ({ above_prompt_tokens: abovePromptTokens, ...ratesShape(rates) })) }),
  },
})

/** A model with native upstreams takes all inputs: its native upstreams serve what its others reject. */
function inputsOf({ isNative, rejects }: Model): string[] {
  const has = (rejection: Rejection): boolean => isNative || !rejects.has(rejection)
  return ['text', ...(has('images') ? ['image'] : []), ...(has('documents') ? ['file'] : [])]
}

const usdOf = (rate: Picos): number => Number(toExactUsdText(rate))

const ratesShape = ({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Rates) => ({
  input: usdPerMillion(input),
  output: usdPerMillion(output),
  cache_read: usdPerMillion(cacheRead),
  cache_write: usdPerMillion(cacheWrite5m),
  cache_write_1h: usdPerMillion(cacheWrite1h),
})

/** USD for a million tokens, as price lists say it. */
const usdPerMillion = (rate: Picos): number => Number(toExactUsdText(picos(rate * TOKENS_PRICED)))
