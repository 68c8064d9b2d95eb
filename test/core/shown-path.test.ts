/** The path that a 404's log line shows: enough to see what a client is set to, nothing that must not be in a log. Rules: operator.md "Log". */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { makeSecret } from '../../src/core/key.ts'
import { shownPath } from '../../src/core/shown-path.ts'

test('an ordinary path is shown as it is', () => {
  const paths = [
    '/v1/v1/messages',
    '/v1/threads/runs',
    '/wp-admin/install.php',
    '/v1/models/claude-sonnet-4-5-20250929',
    '/v1/task-lists',
    '//',
    '/',
  ]
  for (const path of paths) expect(shownPath(path)).toBe(path)
})

/** What a reader of the log could make of it. */
const fullyDecoded = (text: string): string => {
  const next = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return next === text ? text : fullyDecoded(next)
}

test('a key that was pasted into a path is masked, wherever it stands and however it is written', () => {
  const keys = [
    makeSecret(() => randomBytes(64)),
    'sk-ant-api03-short',
    'SK-proj_12',
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc',
    'a1'.repeat(20),
  ]
  const every = (text: string): string => text.replace(/[^/]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  for (const key of keys)
    for (const written of [key, every(key), every(every(key)), `%zz-${every(key)}`, `Bearer%20${key}`, `key=${key}`, `${key}.json`])
      for (const path of [`/${written}`, `/v1/${written}/models`, `/v1/models/x${'/y'.repeat(95)}/${written}`])
        expect([written, fullyDecoded(shownPath(path)).includes(key.slice(0, 8))]).toEqual([written, false])
  expect(shownPath(`/v1/${keys[0]}/models`)).toBe('/v1/***/models')
})

test('it has at most 200 printable characters and no query, whatever was sent', () => {
  expect(shownPath('/a%3Fkey=1')).toBe('/a')
  expect(shownPath('/a%0a%22%1b[31m%e2%80%a8')).toBe('/a?"?[31m???')
  const anything = fc.oneof(
    fc.webPath(),
    fc.string({ unit: 'binary' }),
    fc.string().map((text) => `/${encodeURIComponent(text)}`),
  )
  fc.assert(fc.property(anything, (path) => /^[ -~]{0,200}$/.test(shownPath(path))))
  expect(shownPath('/ab'.repeat(1_000))).toHaveLength(200)
})
