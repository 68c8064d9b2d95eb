/** What a client is told of an upstream’s 400: its own mistake in full, nothing about our account. Rules: faults.md "Words of an upstream". */

import { describe, expect, test } from 'bun:test'
import { errorOfBody, type NativeError } from '../../../src/core/native/error.ts'
import { refusalOfErrorEvent, refusalOfInvalidRequest } from '../../../src/core/native/error-refusal.ts'
import { startProcessorWatch } from '../../support/until.ts'

const MODEL = { id: 'stella-2', upstreamModel: 'vendor-large-20260301' }
const errorOf = (error: Partial<NativeError>): NativeError => ({
  type: 'invalid_request_error',
  code: '',
  message: '',
  errorCode: undefined,
  promptTokens: undefined,
  contextTokens: undefined,
  ...error,
})
const refusal = (message: string, model = MODEL) => refusalOfInvalidRequest(errorOf({ message }), model)
/** What the body of an answer with status 400 becomes. */
const told = (body: unknown): string => {
  const error = errorOfBody(typeof body === 'string' ? body : JSON.stringify(body))
  if (error === undefined) return 'unreadable'
  const { name, message } = refusalOfInvalidRequest(error, MODEL)
  return name === 'upstreamInvalidRequest' ? message : name
}
const shown = (message: string, model = MODEL): string => refusal(message, model).message

describe('a 400 of the upstream', () => {
  test("the customer's mistake keeps its words, also where they name or quote what sounds like an account", () => {
    for (const message of [
      'prompt is too long: 212345 tokens > 200000 maximum',
      'messages.0.content.0.text: text content blocks must be non-empty',
      'messages.3.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01A. Each `tool_result` block must have a corresponding `tool_use`',
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
      'tools.0.custom.input_schema.properties.api_key: Input should be a valid dictionary',
      'billing: Extra inputs are not permitted',
      'metadata.organization_id: Extra inputs are not permitted',
      "tool_choice: Tool 'billing lookup' not found in provided tools",
      'Tool `api_key_lookup` is defined twice',
      'tools: user_lookup_v2 and org_chart_2026 have the same description',
      'tools: tool billing_lookup and workspace-search are not unique',
      'stop_sequences: "credit balance" is too long',
      'tools.1.input_schema.properties.local: JSON schema is invalid',
      "max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens. It's 64000, don't ask for more",
    ]) {
      expect(refusal(message).name, message).toBe('upstreamInvalidRequest')
      expect(shown(message)).toBe(message)
    }
  })

  test('what is about our account is never told to the customer', () => {
    for (const message of [
      'Your credit balance is too low to access the API. Please go to Plans & Billing to upgrade or purchase credits.',
      'This organization has been disabled.',
      'Organization "Acme" has been disabled',
      'You have reached your specified API usage limits. You will regain access on 2026-12-01.',
      'You have reached your specified workspace API usage limits.',
      'This credential is only authorized for use with another product.',
      'invalid x-api-key',
      'The api key is not allowed to use this model',
      'The long context beta is not yet available for this subscription.',
      "You don't have enough credits, it's time to top up",
      'model: not enabled for your account',
      'account: Your account is suspended',
      'anthropic_messages: Invalid model name passed in model=nope. Call `/v1/models` to view available models for your key.',
    ])
      expect(refusal(message).name, message).toBe('upstreamAccount')
    for (const name of [
      'authentication_error',
      'PermissionDeniedError',
      'billing_error',
      'insufficient_quota',
      'budget_exceeded',
      'model_not_found',
      'organization_not_enrolled_in_beta',
    ])
      for (const error of [{ type: name }, { code: name }, { errorCode: name }])
        expect(refusalOfInvalidRequest(errorOf({ ...error, message: 'm' }), MODEL).name, name).toBe('upstreamAccount')
  })

  test("the upstream's name of the model becomes ours, in any case and wherever it stands", () => {
    expect(shown('model: vendor-large-20260301 does not support images')).toBe('model: stella-2 does not support images')
    expect(shown('`Vendor-Large-20260301`, (vendor-large-20260301-v1:0), models/vendor-large-20260301.')).toBe(
      '`stella-2`, (stella-2-v1:0), models/stella-2.',
    )
  })

  test('a name that contains the other is not mangled', () => {
    const longer = { id: 'vendor-large-2-fast', upstreamModel: 'vendor-large-2' }
    expect(shown('vendor-large-2-fast and vendor-large-2', longer)).toBe('vendor-large-2-fast and vendor-large-2-fast')
    expect(shown('max is 20, vendor-large-20 is another', longer)).toBe('max is 20, vendor-large-20 is another')
    const elsewhere = { ...MODEL, upstreams: [{ model: MODEL.upstreamModel }, { model: 'other/large@2' }] }
    expect(shown('other/large@2 is slower than vendor-large-20260301', elsewhere)).toBe('stella-2 is slower than stella-2')
    const shorter = { id: 'large', upstreamModel: 'vendor-large-2' }
    expect(shown('vendor-large-2 is too large', shorter)).toBe('large is too large')
    expect(shown('same $& same', { id: '$&', upstreamModel: 'same' })).toBe('$& $& $&')
    const part = { id: 'my-large', upstreamModel: 'large' }
    expect(shown('my-large: enlarged large', part)).toBe('my-large: enlarged my-large')
  })

  test('no address, host, key or id of the upstream leaves', () => {
    const secrets = [
      'https://console.vendor.example/settings?x=1',
      'wss://north.example:8443/v1',
      'docs.vendor.com/en/api/versioning',
      'north.internal:8080',
      'localhost:9000',
      '10.0.0.7:8080',
      'sk-ant-api03-abcDEF_123-xyz',
      'req_011CSHoEeqs5C35K2UUqR7Fy',
      'org_01ABCdef',
      'org-AbCdEfGhIjKlMnOp12345678',
      '5f2b3c4d-1a2b-4c3d-8e9f-0123456789ab',
    ]
    for (const secret of secrets) {
      expect(shown(`max_tokens: see ${secret} for more`)).toBe('max_tokens: see [removed] for more')
      expect(shown(`see '${secret}'.`)).toBe("see '[removed]'.")
      expect(shown(secret)).toBe('[removed]')
    }
    for (const head of ['api.vendor.com', 'north.internal', 'req_011CSHoEeqs5C35K2UUqR7Fy', 'sk-ant-api03-abcDEF'])
      expect(shown(`${head}: unknown field`)).toBe('[removed]: unknown field')
  })

  test('a text without end is cut before it is searched', () => {
    const spentMs = startProcessorWatch()
    for (const piece of ['a.', 'a-', '`', "'", 'sk-', '1.', 'x://', 'req_'])
      expect(shown(piece.repeat(2_000_000)).length).toBeLessThanOrEqual(50_000)
    expect(spentMs()).toBeLessThan(3_000)
  })
})

describe('a 400 of other servers is the mistake of the customer, too', () => {
  test('whatever its type, and in whichever shape the error stands', () => {
    for (const [body, message] of [
      [
        { error: { type: 'BadRequestError', message: 'top_k must be -1 or at least 1', code: 400, param: null } },
        'top_k must be -1 or at least 1',
      ],
      [{ object: 'error', type: 'BadRequestError', message: 'Already borrowed', code: 400 }, 'Already borrowed'],
      [{ type: 'error', error: { type: 'other_error', message: 'm' } }, 'm'],
      [{ error: { message: 'no type', type: null, param: null, code: '400' } }, 'no type'],
      [{ error: 'json: cannot unmarshal' }, 'json: cannot unmarshal'],
      [{ detail: 'Unsupported role' }, 'Unsupported role'],
      [
        { detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'role'], msg: 'Field required', input: { a: 1 } }] },
        'messages.0.role: Field required',
      ],
      [{ detail: [{ loc: [{ toString: 1 }, null], msg: 7 }] }, ': 7'],
      [{ error: { type: 'invalid_request_error' } }, 'Invalid request'],
      ['event: error\r\ndata: {"code":400,"message":"bad grammar","type":"invalid_request_error"}\r\n\r\n', 'bad grammar'],
      [': hello\n\ndata: {"error":{"message":"in a stream","type":"BadRequestError"}}\n\ndata: [DONE]\n\n', 'in a stream'],
    ] as const)
      expect(told(body)).toBe(message)
    for (const body of ['', '[]', 'null', '{}', '{"error":[]}', 'Bad Request', 'data: nothing\n\n'])
      expect(told(body), body).toBe('unreadable')
  })

  test('a prompt that is too long is told in the sentence of the contract, with the figures of the upstream', () => {
    const sentence = 'prompt is too long: 5000 tokens > 4096 maximum'
    for (const message of [
      sentence,
      `litellm.BadRequestError: AnthropicException - {"error":{"message":"${sentence}"}}. Received Model Group=x`,
      'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
      "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens. Please reduce the length of the messages.",
      "This model's maximum context length is 4096 tokens. However, you requested 5100 tokens (5000 in the messages, 100 in the completion). Please reduce the length of the messages or completion.",
      "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens.",
      'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
      "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5100 tokens: 5000 tokens from the input messages and 100 tokens for the completion.",
      'Prompt contains 5000 tokens and 0 draft tokens, too large for model with 4096 maximum context length',
      "This model's maximum prompt length is 4096 but the request contains 5000 tokens.",
      'The input token count (5000) exceeds the maximum number of tokens allowed (4096).',
    ])
      for (const type of ['invalid_request_error', 'BadRequestError', '', 'exceed_context_size_error'])
        expect(told({ error: { type, message } }), message).toBe(sentence)
    const counted = {
      type: 'exceed_context_size_error',
      message: 'the request exceeds the available context size',
      code: 400,
      n_prompt_tokens: 5000,
    }
    expect(told({ error: { ...counted, n_ctx: 4096 } })).toBe(sentence)
    expect(told({ error: { ...counted, n_ctx: 5000 } })).toBe('prompt is too long: 5000 tokens > 4999 maximum')
  })

  test('where prompt and answer together are too long it says so, since a shorter prompt need not be the remedy', () => {
    const both =
      'input length and `max_tokens` exceed context limit: 3000 + 2000 > 4096, decrease input length or `max_tokens` and try again'
    for (const message of [
      both,
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (3000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.",
      "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 3000 input tokens (2000 > 4096 - 3000).",
      "You passed 3000 input tokens and requested 2000 output tokens. However, the model's context length is only 4096 tokens.",
    ])
      expect(told({ error: { type: 'BadRequestError', message } }), message).toBe(both)
  })

  test('without the figures it is a sentence that begins as agents expect; words that count the answer in pass', () => {
    const sentence = "prompt is too long: it leaves no room for the answer in the model's context window"
    for (const error of [
      { type: 'exceed_context_size_error', message: 'the request exceeds the available context size. try increasing it' },
      { type: 'x', message: 'input is too long for vendor-large-20260301' },
      {
        type: 'invalid_request_error',
        message: 'litellm.ContextWindowExceededError: litellm.BadRequestError: a mock\nmodel=ctx. fallbacks=None.',
      },
      { type: 'invalid_request_error', code: 'context_length_exceeded' },
    ])
      expect(told({ error })).toBe(sentence)
    const unsure =
      "This model's maximum context length is 16384 tokens. However, you requested 8192 output tokens and your prompt contains at least 8193 input tokens, for a total of at least 16385 tokens."
    expect(told({ error: { type: 'BadRequestError', message: unsure } })).toBe(unsure)
    for (const message of ['context_management: unknown edit', 'max_tokens: 9 > 8, which is the maximum allowed number of output tokens'])
      expect(told({ error: { type: 'invalid_request_error', message } })).toBe(message)
  })
})

test('an error inside a stream is told by its type, its code or its words, whatever server it comes from', () => {
  const row = (error: Partial<NativeError> | undefined) =>
    refusalOfErrorEvent(error === undefined ? undefined : errorOf({ type: '', ...error }), MODEL).name
  for (const [error, name] of [
    [{ type: 'overloaded_error' }, 'upstreamBusy'],
    [{ type: 'RateLimitError' }, 'upstreamBusy'],
    [{ type: 'timeout_error' }, 'timedOut'],
    [{ type: 'api_error', code: '400' }, 'upstreamBroken'],
    [{ type: 'request_too_large' }, 'bodyTooLarge'],
    [{ type: 'permission_error' }, 'upstreamAccount'],
    [{ type: 'AuthenticationError' }, 'upstreamAccount'],
    [{ type: 'server_error', code: '500', message: 'out of memory at 10.0.0.7' }, 'upstreamBroken'],
    [{ type: 'whatever', code: '429' }, 'upstreamBusy'],
    [{ code: '400', message: 'm' }, 'upstreamInvalidRequest'],
    [{ type: 'BadRequestError', message: 'm' }, 'upstreamInvalidRequest'],
    [{ type: 'exceed_context_size_error', code: '500' }, 'upstreamInvalidRequest'],
    [{ message: 'request (9 tokens) exceeds the available context size (8 tokens)' }, 'upstreamInvalidRequest'],
    [{ type: 'invalid_request_error', message: 'Your credit balance is too low' }, 'upstreamAccount'],
    [undefined, 'upstreamBroken'],
  ] as const)
    expect(row(error), JSON.stringify(error)).toBe(name)
})

test('of the details of an error only a code of the vendor’s kind is read', () => {
  const codeIn = (details: unknown) => errorOfBody(JSON.stringify({ error: { type: 'x', message: 'm', details } }))?.errorCode
  expect(codeIn({ error_code: 'request_body_timeout', other: 1 })).toBe('request_body_timeout')
  expect(codeIn({ error_code: `a${'1'.repeat(63)}` })).toBe(`a${'1'.repeat(63)}`)
  for (const error_code of ['', 'A', '1a', 'a b', 'a-b', `a${'1'.repeat(64)}`, 'host.internal', 7, null, ['a']])
    expect(codeIn({ error_code })).toBeUndefined()
})
