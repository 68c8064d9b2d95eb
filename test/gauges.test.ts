/** Protects operator.md "Metrics": a node tells how far its clock is off and how often it lost its lane; a ledger that is a file has neither. */

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

test('a node tells its clock and its fences, a file does not', async () => {
  const ofNode = await render({ skewMs: () => -2_500, fences: () => 3, differences: () => [PRICES] })
  expect(ofNode).toContain('\ntollgate_node_clock_skew_seconds -2.5\n')
  expect(ofNode).toContain('\ntollgate_node_fences 3\n')
  expect(ofNode).toContain('\ntollgate_nodes_differ{what="prices"} 2\n')
  expect(await render(undefined)).not.toContain('tollgate_node')
})
