/** What a client is told of an upstream’s 400: its own mistake in full, nothing about our account. Rules: faults.md "Words of an upstream". */

import { describe, expect, test } from 'bun:test'
import { refusalOfInvalidRequest } from '../../../src/core/native/error.ts'

const MODEL = { id: 'stella-2', upstreamModel: 'vendor-large-20260301' }
const refusal = (message: string, model = MODEL) => refusalOfInvalidRequest({ type: 'invalid_request_error', message }, model)
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
    ])
      expect(refusal(message).name, message).toBe('upstreamAccount')
    expect(refusalOfInvalidRequest({ type: 'other_error', message: 'm' }, MODEL).name).toBe('upstreamAccount')
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
    const start = performance.now()
    for (const piece of ['a.', 'a-', '`', "'", 'sk-', '1.', 'x://', 'req_'])
      expect(shown(piece.repeat(2_000_000)).length).toBeLessThanOrEqual(50_000)
    expect(performance.now() - start).toBeLessThan(3_000)
  })
})
