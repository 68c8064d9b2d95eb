/** `tollgate holds list`: what a running gateway holds, as its memory has it, and that none does where none runs. Rules: money.md "Holds". */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
import { holdRequest } from '../support/ledger.ts'
import { NOW, startThread, Workplace } from './run.ts'

test('holds are asked of the gateway, also those that are too young for the file', async () => {
  const place = new Workplace()
  const { id } = await place.json<{ id: string }>('keys', 'create', '--name', 'app', '--balance', '100')
  expect(await place.json('holds', 'list')).toEqual({ data: [], is_running: false, has_more: false, next_cursor: null })
  expect((await place.run('holds', 'list')).out).toBe('No gateway runs on this ledger, so nothing is reserved.\n')
  const opened = await openLedger({ path: place.ledgerPath, create: false, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  const socket = listenOnOperatorSocket(socketPathOf(place.ledgerPath), opened.ledger)
  for (const n of [1, 2, 3]) await opened.ledger.hold(holdRequest(`req_${n}`, id, picos(1_000_000_000_001n)))
  const page = await place.json<{ data: { request_id: string }[] }>('holds', 'list', '--key', 'app', '--limit', '2')
  expect(page).toMatchObject({
    data: [{ request_id: 'req_1', key_id: id, hold_usd: 1, hold_usd_exact: '1.000000000001' }, { request_id: 'req_2' }],
    is_running: true,
    has_more: true,
    next_cursor: 'req_2',
  })
  expect((await place.json<typeof page>('holds', 'list', '--cursor', 'req_2')).data.map(({ request_id }) => request_id)).toEqual(['req_3'])
  socket.close()
  await opened.ledger.close()
  place.remove()
})
