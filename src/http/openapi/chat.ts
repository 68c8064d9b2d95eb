/** `POST /v1/chat/completions` in the document. Rules: contract.md "Chat request", "Chat answer"; requests.md "Documents". */

import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { COST_FIELDS } from './cost-fields.ts'
import examples from './examples/chat.json'
import { OPEN, oneOf, operationOf } from './operation.ts'

const ROLE = oneOf('system', 'developer', 'user', 'assistant', 'tool', 'function')
const FINISH_REASON = oneOf('stop', 'length', 'tool_calls', 'content_filter', 'function_call')

const FUNCTION = t.Object({
  name: t.String(),
  description: t.Optional(t.String()),
  parameters: t.Optional(t.Object({}, { description: 'A JSON Schema', additionalProperties: true })),
})

const CHAT_REQUEST = t.Object(
  {
    model: t.String({ description: 'A model of `GET /v1/models`' }),
    messages: t.Array(
      t.Object(
        {
          role: ROLE,
          content: t.Optional(
            t.Union([t.String(), t.Null(), t.Array(t.Object({ type: t.String({ description: '`text`, `image_url`, `file`, …' }) }, OPEN))]),
          ),
          tool_calls: t.Optional(t.Array(t.Object({}, OPEN), { description: 'Of an assistant’s message: the calls it made' })),
          tool_call_id: t.Optional(t.String({ description: 'Of a tool’s message: the call it answers' })),
        },
        OPEN,
      ),
      {
        minItems: 1,
        description: 'The conversation. System and developer messages, wherever they stand, are hoisted into the system prompt, in order',
      },
    ),
    max_completion_tokens: t.Optional(
      Type.Integer({ minimum: 1, description: 'The longest answer. Default: `max_tokens`, else 32 000 for a stream and 16 000 otherwise' }),
    ),
    max_tokens: t.Optional(Type.Integer({ minimum: 1, description: 'The older name of `max_completion_tokens`' })),
    temperature: t.Optional(t.Number({ minimum: 0, maximum: 2, description: 'Above 1 counts as 1' })),
    top_p: t.Optional(t.Number({ minimum: 0, maximum: 1 })),
    stop: t.Optional(t.Union([t.String(), t.Array(t.String()), t.Null()])),
    stream: t.Optional(t.Boolean({ description: 'true: the answer is a stream of chunks' })),
    stream_options: t.Optional(
      t.Object(
        {
          include_usage: t.Optional(
            t.Boolean({
              description: 'true: usage comes in a chunk of its own with empty `choices`. Otherwise it stands on the finish chunk',
            }),
          ),
        },
        OPEN,
      ),
    ),
    tools: t.Optional(
      t.Array(t.Object({ type: t.String({ description: '`function` or `custom`' }), function: t.Optional(FUNCTION) }, OPEN)),
    ),
    tool_choice: t.Optional(
      t.Union([oneOf('none', 'auto', 'required'), t.Object({}, OPEN)], {
        description: 'Whether and which tool is called, or an object that names a tool',
      }),
    ),
    parallel_tool_calls: t.Optional(t.Boolean()),
    response_format: t.Optional(
      t.Object(
        { type: oneOf('text', 'json_object', 'json_schema') },
        { ...OPEN, description: 'JSON is asked for in the system prompt and never enforced' },
      ),
    ),
    reasoning_effort: t.Optional(oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    user: t.Optional(t.String()),
    n: t.Optional(Type.Integer({ minimum: 1, description: 'Ignored: there is always one choice' })),
    logprobs: t.Optional(t.Unknown({ description: 'Ignored' })),
    top_logprobs: t.Optional(t.Unknown({ description: 'Ignored' })),
    seed: t.Optional(t.Unknown({ description: 'Ignored' })),
  },
  { ...OPEN, title: 'ChatCompletionRequest', description: 'Other fields are ignored' },
)

const CHAT_USAGE = t.Object(
  {
    prompt_tokens: Type.Integer({ description: 'All input, with what was read from and written to the prompt cache' }),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
    prompt_tokens_details: t.Object({
      cached_tokens: Type.Integer({ description: 'Read from the prompt cache' }),
      cache_write_tokens: Type.Integer({ description: 'Written to the prompt cache' }),
      cache_write_1h_tokens: t.Optional(Type.Integer({ description: 'Of these for one hour; left out when there are none' })),
    }),
    completion_tokens_details: t.Object({ reasoning_tokens: Type.Integer() }),
    cache_read_input_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Integer(),
    ...COST_FIELDS,
  },
  { title: 'ChatUsage', description: 'What is charged can be computed from it and the prices of `GET /v1/models`' },
)

const TOOL_CALL = t.Object({
  id: t.String(),
  type: oneOf('function', 'custom'),
  function: t.Optional(t.Object({ name: t.String(), arguments: t.String({ description: 'JSON text' }) })),
  custom: t.Optional(t.Object({ name: t.String(), input: t.String() })),
})

const CHAT_COMPLETION = t.Object(
  {
    id: t.String(),
    object: t.Literal('chat.completion'),
    created: Type.Integer({ description: 'Unix seconds' }),
    model: t.String({ description: 'As the request named it' }),
    choices: t.Array(
      t.Object({
        index: t.Literal(0),
        message: t.Object({
          role: t.Literal('assistant'),
          content: t.String(),
          refusal: t.Null(),
          reasoning_content: t.Optional(t.String({ description: 'Thinking, where it was asked for' })),
          thinking_blocks: t.Optional(t.Array(t.Object({}, OPEN), { description: 'Signed thinking, to be sent back as it is' })),
          tool_calls: t.Optional(t.Array(TOOL_CALL)),
          function_call: t.Optional(
            t.Object({ name: t.String(), arguments: t.String() }, { description: 'Only where the request named `functions`' }),
          ),
        }),
        logprobs: t.Null(),
        finish_reason: FINISH_REASON,
      }),
      { minItems: 1, maxItems: 1, description: 'Always one' },
    ),
    usage: CHAT_USAGE,
  },
  { title: 'ChatCompletion', description: 'The answer in one piece' },
)

const CHAT_CHUNK = t.Object(
  {
    id: t.String({ description: 'The same in all chunks' }),
    object: t.Literal('chat.completion.chunk'),
    created: Type.Integer(),
    model: t.String(),
    choices: t.Array(
      t.Object({
        index: t.Literal(0),
        delta: t.Object({
          role: t.Optional(t.Literal('assistant')),
          content: t.Optional(t.String()),
          reasoning_content: t.Optional(t.String()),
          thinking_blocks: t.Optional(t.Array(t.Object({}, OPEN))),
          tool_calls: t.Optional(
            t.Array(
              t.Object({
                index: Type.Integer(),
                id: t.Optional(t.String({ description: 'In the first chunk of a call' })),
                type: t.Optional(oneOf('function', 'custom')),
                function: t.Optional(t.Object({ name: t.Optional(t.String()), arguments: t.Optional(t.String()) })),
                custom: t.Optional(t.Object({ name: t.Optional(t.String()), input: t.Optional(t.String()) })),
              }),
            ),
          ),
          function_call: t.Optional(t.Object({ name: t.Optional(t.String()), arguments: t.Optional(t.String()) })),
        }),
        logprobs: t.Null(),
        finish_reason: t.Union([FINISH_REASON, t.Null()]),
      }),
    ),
    usage: t.Optional(t.Union([CHAT_USAGE, t.Null()], { description: 'Once in a stream' })),
  },
  { title: 'ChatCompletionChunk', description: 'One `data:` line of a stream' },
)

export const CHAT = operationOf({
  operationId: 'createChatCompletion',
  tag: 'Generate',
  summary: 'Create a chat completion',
  description: 'The OpenAI chat-completions format over every model. The balance must be above 0; the answer is charged by its usage.',
  request: CHAT_REQUEST,
  answer: CHAT_COMPLETION,
  stream: {
    event: CHAT_CHUNK,
    description:
      'With `stream: true`: one `ChatCompletionChunk` in each `data:` line, then `data: [DONE]`. An error after the start is one `data:` line with the error body; then the stream ends without `[DONE]`.',
  },
  examples,
})
