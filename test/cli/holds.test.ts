/** `tollgate holds list`: what a running gateway holds, as its memory has it, and that none does where none runs. Rules: money.md "Holds". */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import type { Hold } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
import { holdRequest } from '../support/ledger.ts'
import { asking, freshLedger, INSERT_CHECKPOINT, makeNode } from '../support/nodes.ts'
import { postgresTest } from '../support/postgres.ts'
import { SiblingPlace } from '../support/sibling.ts'
import { startThread } from '../support/threads.ts'
import { NOW, Workplace } from './run.ts'

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
  const key = await place.json<{ account_id: string }>('keys', 'show', 'app')
  expect(key).toMatchObject({ held_usd_exact: '3.000000000003', balance_usd: 100 })
  expect(await place.json('accounts', 'enable', key.account_id)).toMatchObject({ held_usd_exact: '3.000000000003' })
  socket.close()
  const unheard = `pid ${process.pid} has the ledger open and `
  expect(await place.run('holds', 'list')).toMatchObject({ code: 3, out: '', err: expect.stringContaining(`${unheard}no operator socket`) })
  const { data } = JSON.parse((await place.run('doctor', '--no-network', '--json')).out) as { data: { check: string }[] }
  expect(data.find(({ check }) => check === 'gateway')).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining(`${unheard}does not answer at ${place.ledgerPath}.sock`),
  })
  await opened.ledger.close()
  place.remove()
})

postgresTest(
  'on Postgres what the processes here hold is listed from its first moment on, once, with what other nodes have checkpointed',
  async () => {
    const [place, several] = [new Workplace(), new SiblingPlace()]
    const url = await freshLedger()
    const outside = asking(url)
    const elsewhere = makeNode(url, { name: 'elsewhere' })
    const { boot } = await elsewhere.node.join()
    for (const id of ['req_2', 'req_4']) await outside.ask(INSERT_CHECKPOINT, [id, boot])
    place.env = { LEDGER_URL: url }
    place.write('tollgate.toml', `[ledger]\nurl_env = "LEDGER_URL"\npath = ${JSON.stringify(several.place.path)}\n`)
    const held = (requestId: string): Hold => ({ ...HELD, requestId })
    await several.begin(1, { holds: [held('req_3')] })
    await several.begin(2, { holds: [held('req_1'), held('req_4')] })
    type Page = { data: { request_id: string; model: string }[]; next_cursor: string | null }
    const page = await place.json<Page>('holds', 'list', '--limit', '3')
    expect(page).toMatchObject({ data: [{ request_id: 'req_1' }, { request_id: 'req_2' }, { request_id: 'req_3' }], next_cursor: 'req_3' })
    const last = await place.json<Page>('holds', 'list', '--limit', '3', '--cursor', 'req_3')
    expect(last).toMatchObject({ data: [{ request_id: 'req_4', model: 'large' }], next_cursor: null })
    several.pretend(3)
    expect(await place.run('holds', 'list')).toMatchObject({ code: 1, err: expect.stringMatching(/^tollgate: process 3 did not answer: /) })
    await outside.close()
    await elsewhere.close()
    several.remove()
    place.remove()
  },
  180_000,
)

const HELD: Omit<Hold, 'requestId'> = {
  keyId: 'key_1',
  accountId: 'acc_1',
  modelId: 'large',
  format: 'chat',
  isStream: true,
  amountPicos: picos(5n),
  startedAt: NOW,
}
