/** `POST /v1/responses` in the document. Rules: contract.md "Endpoints", "Errors in a stream"; responses.md "Request". */

import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { COST_FIELDS } from './cost-fields.ts'
import examples from './examples/responses.json'
import { OPEN, oneOf, operationOf } from './operation.ts'

const NULLABLE_TEXT = t.Union([t.String(), t.Null()])

const RESPONSES_REQUEST = t.Object(
  {
    model: t.String({ description: 'A model of `GET /v1/models`' }),
    input: t.Union([t.String(), t.Array(t.Object({}, OPEN))], { description: 'Text, or items: messages, calls and their outputs' }),
    instructions: t.Optional(t.Union([t.String(), t.Null()], { description: 'The system prompt' })),
    max_output_tokens: t.Optional(
      Type.Integer({ minimum: 1, description: 'The longest answer. Default 32 000 for a stream and 16 000 otherwise' }),
    ),
    temperature: t.Optional(t.Number({ minimum: 0, maximum: 2, description: 'Above 1 counts as 1' })),
    top_p: t.Optional(t.Number({ minimum: 0, maximum: 1 })),
    stream: t.Optional(t.Boolean({ description: 'true: the answer is a stream of events' })),
    store: t.Optional(t.Boolean({ description: 'false: the answer is not remembered for `previous_response_id`' })),
    previous_response_id: t.Optional(
      t.Union([t.String(), t.Null()], {
        description: 'An answer of the last 60 minutes to go on from. One that is no longer kept is a 400',
      }),
    ),
    tools: t.Optional(
      t.Array(t.Object({ type: t.String({ description: '`function`, `custom`; tools hosted elsewhere are dropped' }) }, OPEN)),
    ),
    tool_choice: t.Optional(t.Union([oneOf('none', 'auto', 'required'), t.Object({}, OPEN)])),
    parallel_tool_calls: t.Optional(t.Boolean()),
    reasoning: t.Optional(
      t.Object({ effort: t.Optional(t.Union([oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'), t.Null()])) }, OPEN),
    ),
    text: t.Optional(
      t.Object(
        { format: t.Optional(t.Object({ type: oneOf('text', 'json_object', 'json_schema') }, OPEN)) },
        { ...OPEN, description: 'JSON is asked for in the system prompt and never enforced' },
      ),
    ),
    user: t.Optional(t.String()),
  },
  {
    ...OPEN,
    title: 'ResponsesRequest',
    description: '`conversation`, `background: true` and `prompt` are a 400; other fields are ignored',
  },
)

const RESPONSES_USAGE = t.Object(
  {
    input_tokens: Type.Integer({ description: 'All input, with what was read from and written to the prompt cache' }),
    input_tokens_details: t.Object({
      cached_tokens: Type.Integer(),
      cache_write_tokens: Type.Integer(),
      cache_write_1h_tokens: t.Optional(Type.Integer()),
    }),
    output_tokens: Type.Integer(),
    output_tokens_details: t.Object({ reasoning_tokens: Type.Integer() }),
    total_tokens: Type.Integer(),
    ...COST_FIELDS,
  },
  { title: 'ResponsesUsage', description: 'What is charged can be computed from it and the prices of `GET /v1/models`' },
)

const OUTPUT_ITEM = t.Object(
  {
    id: t.String(),
    type: oneOf('message', 'reasoning', 'function_call', 'custom_tool_call'),
    status: t.Optional(oneOf('in_progress', 'completed', 'incomplete')),
    role: t.Optional(t.Literal('assistant')),
    content: t.Optional(t.Array(t.Object({ type: t.String(), text: t.Optional(t.String()) }, OPEN))),
    summary: t.Optional(t.Array(t.Object({ type: t.String(), text: t.String() }))),
    encrypted_content: t.Optional(NULLABLE_TEXT),
    call_id: t.Optional(t.String()),
    name: t.Optional(t.String()),
    namespace: t.Optional(t.String()),
    arguments: t.Optional(t.String({ description: 'JSON text' })),
    input: t.Optional(t.String()),
  },
  { title: 'OutputItem', description: 'A message, thinking or a call' },
)

const RESPONSE = t.Object(
  {
    id: t.String(),
    object: t.Literal('response'),
    created_at: Type.Integer({ description: 'Unix seconds' }),
    status: oneOf('in_progress', 'completed', 'incomplete', 'failed'),
    model: t.String({ description: 'As the request named it' }),
    output: t.Array(OUTPUT_ITEM),
    usage: t.Union([RESPONSES_USAGE, t.Null()]),
    error: t.Union([t.Null(), t.Object({ code: t.String(), message: t.String() })], { description: 'Why it failed' }),
    incomplete_details: t.Union([t.Null(), t.Object({ reason: t.String() })]),
    previous_response_id: NULLABLE_TEXT,
  },
  { ...OPEN, title: 'Response', description: 'The answer in one piece. Settings of the request are echoed' },
)

const RESPONSE_EVENT = t.Object(
  {
    type: t.String({ description: '`response.created`, `response.output_text.delta`, `response.completed`, …' }),
    sequence_number: Type.Integer(),
    response: t.Optional(RESPONSE),
    output_index: t.Optional(Type.Integer()),
    content_index: t.Optional(Type.Integer()),
    item_id: t.Optional(t.String()),
    item: t.Optional(OUTPUT_ITEM),
    delta: t.Optional(t.String()),
  },
  { ...OPEN, title: 'ResponseStreamEvent', description: 'The data of one event; its name is the `type`' },
)

export const RESPONSES = operationOf({
  operationId: 'createResponse',
  tag: 'Generate',
  summary: 'Create a response',
  description: 'The OpenAI responses format over every model. The balance must be above 0; the answer is charged by its usage.',
  request: RESPONSES_REQUEST,
  answer: RESPONSE,
  stream: {
    event: RESPONSE_EVENT,
    description:
      'With `stream: true`: events from `response.created` to `response.completed` or `response.incomplete`, one `ResponseStreamEvent` each. An error after the start is `response.failed`, with the reason in `response.error`; then the stream ends.',
  },
  examples,
})
