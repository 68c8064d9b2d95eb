/** Which web pages may read an answer: any, or the listed origins, and never a wrong one out of a cache. Rules: requests.md "Browsers". */

import { expect, test } from 'bun:test'
import { corsHeaders } from '../../src/relay/answer-headers.ts'

const LISTED = ['https://chat.example', 'https://other.example']

test('with * any origin may read, and a request without one gets the same headers', () => {
  for (const origin of [null, 'https://chat.example', 'null'])
    expect(corsHeaders(origin, ['*'])).toMatchObject({ 'access-control-allow-origin': '*' })
})

test('a narrowed list echoes a listed origin, says nothing to others, and always varies by origin', () => {
  expect(corsHeaders('https://other.example', LISTED)).toMatchObject({
    'access-control-allow-origin': 'https://other.example',
    vary: 'origin',
  })
  for (const origin of [null, 'null', 'https://chat.example.evil', 'http://chat.example', 'https://chat.example:444'])
    expect(corsHeaders(origin, LISTED)).toEqual({ vary: 'origin' })
})

test('a script may read the ids, the advice to retry, the cost and a cap that was lowered', () => {
  const exposed = corsHeaders('https://chat.example', LISTED)['access-control-expose-headers'] ?? ''
  for (const name of ['x-request-id', 'request-id', 'retry-after', 'x-should-retry', 'x-cost-usd', 'x-balance-usd', 'x-max-tokens-applied'])
    expect(exposed.split(', ')).toContain(name)
})
