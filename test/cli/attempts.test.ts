/** `tollgate attempts list`: the upstream calls that no receipt stands for, with what they used. Rules: operator.md "Lists". */

import { afterEach, expect, test } from 'bun:test'
import { makeRequests, requestId } from './lists.ts'
import { Workplace } from './run.ts'

const place = new Workplace()
afterEach(() => place.remove())

test('attempts are listed with their price, by request and by time', async () => {
  makeRequests(place)
  const all = await place.json<{ data: object[] }>('attempts', 'list')
  expect(all).toMatchObject({
    data: [
      {
        request_id: requestId(4),
        attempt: 1,
        upstream: 'main',
        status: 529,
        cause: 'overloaded',
        input_tokens: 7,
        price_usd_exact: '0.000021',
      },
    ],
    has_more: false,
    next_cursor: null,
  })
  expect(await place.json<typeof all>('attempts', 'list', '--request', requestId(4), '--from', '2026-11-21')).toEqual(all)
  for (const argv of [
    ['--request', requestId(1)],
    ['--to', '2026-11-20'],
    ['--cursor', `${requestId(4)}:1`],
  ])
    expect(await place.json<typeof all>('attempts', 'list', ...argv)).toMatchObject({ data: [] })
  expect((await place.run('attempts', 'list')).out).toMatch(/^req_\w+ +1 .* overloaded +partial +7 /m)
})
