/** A request's tag is on its receipt, whole, streamed and of a large body; another form is a 400 that names the header; ids of end users count only where an operator wants it. Rules: requests.md "Tags". */

import { afterAll, expect, test } from 'bun:test'
import { nativeMessage, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { FORMATS } from '../support/stage.ts'

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_reason: 'end_turn', stop_sequence: null }
const usage = { input_tokens: 5, output_tokens: 1 }
const upstream = await startFakeUpstream({ answer: () => nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'Hi' }], usage }) })
const gateway = await startTestGateway({ upstreams: [upstream.url] })
const secret = await gateway.createKey({ balanceUsd: '5' })
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' }
const bodyOf = (format: (typeof FORMATS)[number], more: object = {}, text = 'Hi') =>
  format === 'responses'
    ? { model: MODEL_ID, input: text, max_output_tokens: 16, ...more }
    : { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: text }], ...more }

async function ask(format: (typeof FORMATS)[number], headers: Record<string, string>, more: object = {}, text = 'Hi') {
  const answer = await fetch(`${gateway.url}${PATHS[format]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(bodyOf(format, more, text)),
  })
  const told = await answer.text()
  const id = answer.headers.get('x-request-id')
  return { status: answer.status, told, tag: gateway.receipts().find(({ requestId }) => requestId === id)?.tag, id }
}

for (const format of FORMATS)
  test(`${format}: the header’s tag is on the receipt, and its customer reads it`, async () => {
    const { status, tag, id } = await ask(format, { 'x-spend-tag': 'team:a/b_c.d-1' })
    expect([status, tag]).toEqual([200, 'team:a/b_c.d-1'])
    const told = await fetch(`${gateway.url}/v1/dashboard/usage/requests/${id}`, { headers: { authorization: `Bearer ${secret}` } })
    expect(await told.json()).toMatchObject({ tag: 'team:a/b_c.d-1' })
    expect((await ask(format, {})).tag).toBeNull()
  })

test('a large body, which a thread reads, has its tag, too', async () => {
  expect((await ask('messages', { 'x-spend-tag': 'large' }, {}, 'word '.repeat(100_000))).tag).toBe('large')
})

test.each(['', 'a b', 'ä', 'x'.repeat(65), 'a,b', 'a;b'])('"%s" is refused by name, free', async (tag) => {
  const calls = upstream.requests.length
  const before = gateway.receipts().length
  const { status, told } = await ask('messages', { 'x-spend-tag': tag })
  expect([status, told]).toEqual([400, expect.stringContaining('x-spend-tag')])
  expect([upstream.requests.length, gateway.receipts().length]).toEqual([calls, before])
})

test('the ids of end users are tags where the account’s operator turned that on, and never against the header', async () => {
  const chat = { user: 'end-user-1' }
  const native = { metadata: { user_id: 'end-user-2' } }
  expect((await ask('messages', {}, native)).tag).toBeNull()
  expect((await ask('chat', {}, chat)).tag).toBeNull()
  await gateway.operate({ kind: 'setAccountTags', accountId: 'acc_1', tagsUserIds: true, now: Date.now() })
  expect((await ask('messages', {}, native)).tag).toBe('end-user-2')
  expect((await ask('chat', {}, chat)).tag).toBe('end-user-1')
  expect((await ask('chat', {}, { ...chat, ...native })).tag).toBe('end-user-2')
  expect((await ask('responses', {}, chat)).tag).toBe('end-user-1')
  expect((await ask('messages', { 'x-spend-tag': 'mine' }, native)).tag).toBe('mine')
  const odd = await ask('chat', {}, { user: `a b ${'x'.repeat(90)}` })
  expect([odd.status, odd.tag]).toEqual([200, null])
  expect((await ask('messages', {}, { ...native, system: 'word '.repeat(100_000) })).tag).toBe('end-user-2')
  await gateway.operate({ kind: 'setAccountTags', accountId: 'acc_1', tagsUserIds: false, now: Date.now() })
  expect((await ask('chat', {}, chat)).tag).toBeNull()
})

test('a key’s requests are found by their tag, as pages and as a file, and another form is refused by its field', async () => {
  const read = async (query: string) =>
    fetch(`${gateway.url}/v1/dashboard/usage/requests?${query}`, { headers: { authorization: `Bearer ${secret}` } })
  const { data } = (await (await read('tag=large')).json()) as { data: { tag: string }[] }
  expect(data.map(({ tag }) => tag)).toEqual(['large'])
  expect(((await (await read('tag=none-has-it')).json()) as { data: unknown[] }).data).toEqual([])
  const [head, ...lines] = (await (await read('tag=large&format=csv')).text()).trim().split('\r\n')
  expect([head?.split(',').at(-1), lines.map((line) => line.split(',').at(-1))]).toEqual(['tag', ['large']])
  const wrong = await read('tag=a%20b')
  expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('tag')])
})

test('no upstream gets the header', () => {
  expect(upstream.requests.length).toBeGreaterThan(5)
  for (const { headers } of upstream.requests) expect(headers.map(([name]) => name.toLowerCase())).not.toContain('x-spend-tag')
})

test('the books agree', async () => {
  await gateway.idle()
  expect(gateway.verify()).toEqual([])
})
