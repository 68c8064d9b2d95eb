/** The requests of one tenant that may disturb another, by name: the path, and the body as it is sent. */

import { gzipSync } from 'node:zlib'

export type Attack = Readonly<{
  path: string
  body: Uint8Array
  headers?: Readonly<Record<string, string>>
  connections: number
  /** Whether the key has no money. */
  isEmpty?: boolean
  /** Whether the answers are not read. */
  isUnread?: boolean
}>

/** A model on an upstream of its own, so that no neighbour waits for an upstream that is busy with megabytes of the attack. */
export const ATTACK_MODEL = 'attack-model'

type Json = Readonly<Record<string, unknown>>

const times = <Value>(count: number, make: (index: number) => Value): Value[] => Array.from({ length: count }, (_, index) => make(index))
const user = (content: string): Json => ({ role: 'user', content })
const bytesOf = (json: Json): Uint8Array => Buffer.from(JSON.stringify({ model: ATTACK_MODEL, max_tokens: 9, ...json }))

const turns = times(5_500, (index) => [
  { role: 'assistant', tool_calls: [{ id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
  { role: 'tool', tool_call_id: `c${index}`, content: 'r' },
]).flat()
const tools = times(10_500, (index) => ({ type: 'function', function: { name: `tool_${index}`, parameters: { type: 'object' } } }))
const fields = Object.fromEntries(times(90_000, (index) => [`f${index}`, 1]))
const [chat, messages] = ['/v1/chat/completions', '/v1/messages']

/** The attacks by name; a body is made only when its attack is asked for. */
export const ATTACKS: Readonly<Record<string, () => Attack>> = {
  'bodies below 1 MiB': () => ({ path: messages, body: bytesOf({ messages: [user('u')], ...fields }), connections: 8 }),
  'the same as gzip, without money': () => ({
    path: messages,
    body: gzipSync(bytesOf({ messages: [user('u')], ...fields })),
    headers: { 'content-encoding': 'gzip' },
    connections: 8,
    isEmpty: true,
  }),
  'count_tokens of the same': () => ({
    path: '/v1/messages/count_tokens',
    body: bytesOf({ messages: [user('u')], ...fields }),
    connections: 8,
  }),
  '5,500 tool turns': () => ({ path: chat, body: bytesOf({ messages: [user('u'), ...turns] }), connections: 4 }),
  '10,500 tools': () => ({ path: chat, body: bytesOf({ messages: [user('u')], tools }), connections: 4 }),
  'a string of 32 MB': () => ({ path: chat, body: bytesOf({ messages: [user('x'.repeat(32_000_000))] }), connections: 3 }),
  'a string of 32 MB, named': () => ({
    path: chat,
    body: bytesOf({ messages: [user('x'.repeat(32_000_000))] }),
    headers: { 'idempotency-key': 'again' },
    connections: 3,
  }),
  '40 unread answers of 30 MB, messages': () => ({
    path: messages,
    body: bytesOf({ messages: [user('mb:30')] }),
    connections: 40,
    isUnread: true,
  }),
  '40 unread answers of 30 MB, chat': () => ({ path: chat, body: bytesOf({ messages: [user('mb:30')] }), connections: 40, isUnread: true }),
}
