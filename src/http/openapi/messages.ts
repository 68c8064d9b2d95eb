/**
 * `POST /v1/messages` and its `count_tokens` in the document. Rules: contract.md "Messages request", "Messages answer", "Usage", "Versions". What the vendor's
 * format has beyond it passes through and is the vendor's to describe.
 */

import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { COST_FIELDS } from './cost-fields.ts'
import countTokensExamples from './examples/count-tokens.json'
import messagesExamples from './examples/messages.json'
import { type HeaderParameter, OPEN, oneOf, operationOf } from './operation.ts'

const CACHE_CONTROL = t.Object(
  { type: t.Literal('ephemeral'), ttl: t.Optional(oneOf('5m', '1h')) },
  { description: 'A cache breakpoint. At most four in a request' },
)

const CONTENT = t.Array(
  t.Object(
    { type: t.String({ description: '`text`, `image`, `tool_use`, `tool_result`, …' }), cache_control: t.Optional(CACHE_CONTROL) },
    OPEN,
  ),
)

const COUNTED = {
  model: t.String({ description: 'A model of `GET /v1/models`' }),
  messages: t.Array(t.Object({ role: oneOf('user', 'assistant', 'system'), content: t.Optional(t.Union([t.String(), CONTENT])) }, OPEN), {
    minItems: 1,
    description: 'The conversation',
  }),
  system: t.Optional(t.Union([t.String(), CONTENT], { description: 'The system prompt, as text or as text blocks' })),
  tools: t.Optional(
    t.Array(
      t.Object(
        {
          name: t.Optional(t.String()),
          description: t.Optional(t.String()),
          input_schema: t.Optional(t.Object({}, { ...OPEN, description: 'A JSON Schema' })),
          cache_control: t.Optional(CACHE_CONTROL),
        },
        OPEN,
      ),
    ),
  ),
  tool_choice: t.Optional(
    t.Object(
      { type: oneOf('auto', 'any', 'tool', 'none'), name: t.Optional(t.String()), disable_parallel_tool_use: t.Optional(t.Boolean()) },
      { ...OPEN, description: 'Normalized: forms of other formats are understood, too' },
    ),
  ),
}

const MESSAGES_REQUEST = t.Object(
  {
    ...COUNTED,
    max_tokens: Type.Integer({ minimum: 0, description: 'Hard cap on the output. 0 warms the prompt cache' }),
    temperature: t.Optional(t.Number({ minimum: 0, maximum: 1 })),
    top_p: t.Optional(t.Number({ minimum: 0, maximum: 1 })),
    top_k: t.Optional(Type.Integer()),
    stop_sequences: t.Optional(t.Array(t.String())),
    stream: t.Optional(t.Boolean({ description: 'true: the answer is a stream of events' })),
    thinking: t.Optional(t.Object({}, OPEN)),
  },
  { ...OPEN, title: 'MessagesRequest', description: 'The vendor’s own format. Other fields pass to the model' },
)

const USAGE = t.Object(
  {
    input_tokens: Type.Integer({ description: 'Input that was neither read from nor written to the prompt cache' }),
    output_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Integer({ description: 'Written to the prompt cache' }),
    cache_read_input_tokens: Type.Integer({ description: 'Read from the prompt cache, at a reduced rate' }),
    cache_creation: t.Optional(
      t.Union([t.Null(), t.Object({ ephemeral_5m_input_tokens: Type.Integer(), ephemeral_1h_input_tokens: Type.Integer() }, OPEN)]),
    ),
    ...COST_FIELDS,
  },
  { ...OPEN, title: 'Usage', description: 'What is charged: tokens × the rates of `GET /v1/models`' },
)

const MESSAGE = t.Object(
  {
    id: t.String(),
    type: t.Literal('message'),
    role: t.Literal('assistant'),
    model: t.String({ description: 'As the request named it' }),
    content: t.Array(
      t.Object(
        {
          type: t.String({ description: '`text`, `tool_use`, `thinking`, …' }),
          text: t.Optional(t.String({ description: 'Of a `text` block' })),
        },
        OPEN,
      ),
    ),
    stop_reason: t.Union([t.String({ description: '`end_turn`, `max_tokens`, `stop_sequence`, `tool_use`, …' }), t.Null()]),
    stop_sequence: t.Optional(t.Union([t.String(), t.Null()])),
    usage: USAGE,
  },
  { ...OPEN, title: 'Message', description: 'The answer in one piece' },
)

const MESSAGE_EVENT = t.Object(
  {
    type: oneOf(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'ping',
      'error',
    ),
    message: t.Optional(MESSAGE),
    index: t.Optional(Type.Integer({ description: 'Of the content block' })),
    content_block: t.Optional(t.Object({ type: t.String() }, OPEN)),
    delta: t.Optional(t.Object({}, OPEN)),
    usage: t.Optional(t.Object({ output_tokens: Type.Integer(), ...COST_FIELDS }, { ...OPEN, description: 'So far' })),
    error: t.Optional(t.Object({ type: t.String(), message: t.String() }, OPEN)),
  },
  { ...OPEN, title: 'MessageStreamEvent', description: 'The data of one event; its name is the `type`' },
)

const TOKEN_COUNT = t.Object(
  { input_tokens: Type.Integer() },
  { ...OPEN, title: 'TokenCount', description: 'What the request would be charged as input' },
)

const HEADERS: readonly HeaderParameter[] = [
  {
    name: 'anthropic-version',
    in: 'header',
    description: 'Version of the native format. Default `2023-06-01`. `vendor-version` is accepted, too.',
    schema: t.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', default: '2023-06-01' }),
  },
  { name: 'anthropic-beta', in: 'header', description: 'Names of betas, with commas between them.', schema: t.String() },
]

export const MESSAGES = operationOf({
  operationId: 'createMessage',
  tag: 'Generate',
  summary: 'Create a message',
  description: 'The native messages format over every model. The balance must be above 0; the answer is charged by its usage.',
  request: MESSAGES_REQUEST,
  answer: MESSAGE,
  stream: {
    event: MESSAGE_EVENT,
    description:
      'With `stream: true`: events from `message_start` to `message_stop`, one `MessageStreamEvent` each. An error after the start is an `error` event with the error body; then the stream ends.',
  },
  parameters: HEADERS,
  examples: messagesExamples,
})

export const COUNT_TOKENS = operationOf({
  operationId: 'countTokens',
  tag: 'Generate',
  summary: 'Count the tokens of a message',
  description: 'Free, and answered without a balance; it counts in the rate limit. A model whose upstream cannot count answers 404.',
  request: t.Object(COUNTED, {
    ...OPEN,
    title: 'CountTokensRequest',
    description: 'A messages request; what only an answer needs may be left out',
  }),
  answer: TOKEN_COUNT,
  parameters: HEADERS,
  examples: countTokensExamples,
})
