/** The simulator refuses what a native upstream refuses, and nothing else. Rules: native.md "What native refuses". */

import { expect, test } from 'bun:test'
import { assistant, type Fields, quick, READ, requestOf, user } from './ask.ts'

const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'Read', input: {} })
const result = (id: string): Fields => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })
const good = { model: 'm', max_tokens: 2_000, messages: [user('Hi')] }
const tools = [READ]

test('requests that a native upstream refuses are refused, naming the field', async () => {
  const bad: [string, unknown][] = [
    ['JSON', '{"model":'],
    ['JSON', '[]'],
    ['model', { ...good, model: undefined }],
    ['model', { ...good, model: 5 }],
    ['max_tokens', { ...good, max_tokens: undefined }],
    ['max_tokens', { ...good, max_tokens: -1 }],
    ['max_tokens', { ...good, max_tokens: 1.5 }],
    ['messages', { ...good, messages: undefined }],
    ['messages', { ...good, messages: [] }],
    ['messages.0.role', { ...good, messages: [{ role: 'tool', content: 'x' }] }],
    ['messages.0.content', { ...good, messages: [{ role: 'user' }] }],
    ['messages.0', { ...good, messages: [user(' ')] }],
    ['messages.0', { ...good, messages: [user([])] }],
    ['white space', { ...good, messages: [user('Hi'), assistant('so ')] }],
    ['system', { ...good, system: 7 }],
    ['stream', { ...good, stream: 'yes' }],
    ['stop_sequences', { ...good, stop_sequences: [' '] }],
    ['temperature', { ...good, temperature: 1.5 }],
    ['top_p', { ...good, top_p: '1' }],
    ['tools.0.name', { ...good, tools: [{ ...READ, name: 'a b' }] }],
    ['unique', { ...good, tools: [READ, READ] }],
    ['input_schema', { ...good, tools: [{ name: 'x', input_schema: { type: 'string' } }] }],
    ['tool_choice', { ...good, tool_choice: { type: 'any' } }],
    ['tool_choice', { ...good, tools, tool_choice: { type: 'tool', name: 'Nope' } }],
    ['budget_tokens', { ...good, thinking: { type: 'enabled', budget_tokens: 5 } }],
    ['budget_tokens', { ...good, thinking: { type: 'enabled', budget_tokens: 2_000 } }],
    ['thinking', { ...good, tools, tool_choice: { type: 'any' }, thinking: { type: 'enabled', budget_tokens: 1_024 } }],
    ['tools', { ...good, messages: [user('go'), assistant([call('a')]), user([result('a')])] }],
  ]
  for (const [field, body] of bad) {
    const response = await quick()(requestOf(body))
    expect([field, response.status]).toEqual([field, 400])
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(field) },
    })
  }
})

test('every tool call needs exactly one result, first in the next user turn', async () => {
  const status = async (...messages: Fields[]): Promise<number> => (await quick()(requestOf({ ...good, tools, messages }))).status
  expect(await status(user('go'), assistant([call('a'), call('b')]), user([result('b'), result('a'), { type: 'text', text: 'x' }]))).toBe(
    200,
  )
  expect(await status(user('go'), assistant([call('a')]), user([result('a')]), user('more'))).toBe(200)
  expect(await status(user('go'), assistant([call('a'), call('b')]), user([result('a')]))).toBe(400)
  expect(await status(user('go'), assistant([call('a')]), user('no result'))).toBe(400)
  expect(await status(user('go'), assistant([call('a')]))).toBe(400)
  expect(await status(user([result('a')]))).toBe(400)
  expect(await status(user('go'), assistant([call('a')]), user([{ type: 'text', text: 'x' }, result('a')]))).toBe(400)
  expect(await status(user('go'), assistant([call('a')]), user([result('a'), result('a')]))).toBe(400)
  expect(await status(user('go'), assistant([call('a b')]), user([result('a b')]))).toBe(400)
  expect(await status(user('go'), assistant([call('a')]), user([result('a')]), assistant([call('a')]), user([result('a')]))).toBe(400)
})

test('unknown fields, block types, system messages and typed tools pass', async () => {
  const messages = [
    user([
      { type: 'new_block', x: 1 },
      { type: 'text', text: 'Hi' },
    ]),
    { role: 'system', content: 'note', output_config: {} },
  ]
  const body = { ...good, messages, future: true, tools: [{ type: 'web_search_20250305', name: 'web_search' }, READ] }
  expect((await quick()(requestOf(body))).status).toBe(200)
})

test('other paths and methods get native errors, and counting needs no max_tokens', async () => {
  for (const path of ['/', '/v1/models', '/v1/messages/', '/v1/v1/messages']) {
    const response = await quick()(requestOf(good, path))
    expect([path, response.status]).toEqual([path, 404])
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
  }
  expect((await quick()(new Request('http://simulator/v1/messages'))).status).toBe(405)
  const counted = await quick()(requestOf({ model: 'm', messages: [user('12345678')] }, '/v1/messages/count_tokens?beta=true'))
  expect(await counted.json()).toEqual({ input_tokens: 5 })
})
