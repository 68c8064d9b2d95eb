/** What a supervisor asks: whether the process lives and is ready, and what its listener has beside that. Rules: operator.md "Health", "Metrics". */

import { expect, test } from 'bun:test'
import { operatorApp } from '../../src/http/health.ts'
import { ask, errorOf, smallApp } from '../support/app.ts'
import { makeTestWorld } from '../support/world.ts'

test('/livez is 200 on both listeners, whatever the ledger says and while draining', async () => {
  const { world, setLedgerUp, setDraining } = makeTestWorld()
  setLedgerUp(false)
  setDraining(true)
  for (const app of [smallApp(world), operatorApp(world)]) expect((await ask(app, '/livez')).status).toBe(200)
})

test('/readyz is 503 while draining, while the ledger cannot write and once it is known to be damaged, and says which', async () => {
  const { world, setLedgerUp, setLedgerSound, setDraining } = makeTestWorld()
  const read = async (): Promise<[number, unknown][]> =>
    Promise.all(
      [smallApp(world), operatorApp(world)].map(async (app): Promise<[number, unknown]> => {
        const response = await ask(app, '/readyz')
        return [response.status, ((await response.json()) as { status: string }).status]
      }),
    )
  expect(await read()).toEqual([
    [200, 'ok'],
    [200, 'ok'],
  ])
  setLedgerUp(false)
  expect(await read()).toEqual([
    [503, 'ledger is not writable'],
    [503, 'ledger is not writable'],
  ])
  setLedgerUp(true)
  setLedgerSound(false)
  expect(await read()).toEqual([
    [503, 'ledger is damaged'],
    [503, 'ledger is damaged'],
  ])
  setDraining(true)
  expect(await read()).toEqual([
    [503, 'draining'],
    [503, 'draining'],
  ])
})

test('/readyz says in what the nodes of its ledger differ, ready or not', async () => {
  const nodeDifferences = [{ what: 'prices', values: [] }]
  const { world, setDraining } = makeTestWorld({ nodeDifferences })
  const read = async (): Promise<unknown> => (await ask(smallApp(world), '/readyz')).json()
  expect(await read()).toEqual({ status: 'ok', differs: ['prices'] })
  setDraining(true)
  expect(await read()).toEqual({ status: 'draining', differs: ['prices'] })
  expect(await (await ask(smallApp(makeTestWorld().world), '/readyz')).json()).toEqual({ status: 'ok' })
})

test('/metrics is on the operator’s listener only, in the text format that Prometheus reads', async () => {
  const { world } = makeTestWorld()
  const response = await ask(operatorApp(world), '/metrics')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
  expect(await response.text()).toContain('# TYPE tollgate_requests_total counter')
  expect((await errorOf(await ask(smallApp(world), '/metrics'))).status).toBe(404)
})

test('the operator’s listener has no API of clients', async () => {
  const { world } = makeTestWorld()
  for (const path of ['/v1/models', '/v1/messages', '/', '/livez/'])
    expect((await errorOf(await ask(operatorApp(world), path))).status).toBe(404)
})

test('probes are not logged', async () => {
  const { world, logLines } = makeTestWorld()
  for (const path of ['/livez', '/readyz']) await ask(smallApp(world), path)
  expect(logLines()).toEqual([])
})
