/** Protects operator.md "Metrics": a node tells how far its clock is off and how often it lost its lane; a ledger that is a file has neither, and its size is told once. */

import { expect, test } from 'bun:test'
import { registerGauges } from '../src/gauges.ts'
import type { Shared } from '../src/ledger/open-options.ts'
import { makeMetrics } from '../src/observe/metrics.ts'

function render(shared: Partial<Shared> | undefined): Promise<string> {
  const metrics = makeMetrics()
  const ledger = { isWritable: () => true, holds: () => [] }
  const parts = {
    world: { metrics, ledger },
    bodies: { bytes: 0 },
    pool: { reports: () => [] },
    recovered: 0,
    ledgerPath: '/nowhere',
    shared,
  }
  registerGauges(parts as unknown as Parameters<typeof registerGauges>[0])
  return metrics.render()
}

const PRICES = {
  what: 'prices',
  values: [
    { value: 'x', nodes: ['a'] },
    { value: 'y', nodes: ['b'] },
  ],
} as const

test('the size of a file is told by the process that has it, and neither by its relays nor by nodes', async () => {
  const sizes = /^tollgate_(?:ledger_wal|kept_answers)_bytes /gm
  const named = { skewMs: () => 0, fences: () => 0, differences: () => [] }
  const claims = {} as NonNullable<Shared['claims']>
  const [own, relay, node] = await Promise.all([render(undefined), render({ ...named, claims }), render(named)])
  expect([own, relay, node].map((text) => text.match(sizes)?.length ?? 0)).toEqual([2, 0, 0])
  expect(relay).not.toContain('tollgate_node')
})

test('a node tells its clock and its fences, a file does not', async () => {
  const ofNode = await render({ skewMs: () => -2_500, fences: () => 3, differences: () => [PRICES] })
  expect(ofNode).toContain('\ntollgate_node_clock_skew_seconds -2.5\n')
  expect(ofNode).toContain('\ntollgate_node_fences 3\n')
  expect(ofNode).toContain('\ntollgate_nodes_differ{what="prices"} 2\n')
  expect(await render(undefined)).not.toContain('tollgate_node')
})
