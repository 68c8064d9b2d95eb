/** What an upstream does wrong in every answer is counted each time, and told once a minute. Rules: operator.md "Log". */

import { expect, test } from 'bun:test'
import { makeMetrics } from '../../src/observe/metrics.ts'
import { poolEvents } from '../../src/observe/pool-events.ts'
import { makeLogMemory } from '../support/log-memory.ts'

test('another model is an alarm, another count a notice: at once, then once a minute with how often since', async () => {
  let nowMs = 0
  const metrics = makeMetrics()
  const { log, lines } = makeLogMemory()
  const events = poolEvents(metrics, log, () => nowMs)
  for (nowMs of [0, 59_999, 60_000]) {
    events.otherModel('north', 'opus', 'flash')
    events.countDiffers('north', { counter: 'output', ours: 5, theirs: 6 })
  }
  const told = { upstream: 'north', asked: 'opus', named: 'flash', alarm: 'an upstream answers with another model' }
  const differs = { upstream: 'north', counter: 'output', ours: 5, theirs: 6 }
  expect(lines()).toMatchObject([
    { ...told, count: 1 },
    { ...differs, count: 1 },
    { ...told, count: 2 },
    { ...differs, count: 2 },
  ])
  const text = await metrics.render()
  expect(text).toContain('tollgate_upstream_other_model_total{upstream="north"} 3')
  expect(text).toContain('tollgate_upstream_count_differences_total{upstream="north",counter="output"} 3')
})

test('betas that make a 400 of each request are told with the setting that would mend it', () => {
  const { log, lines } = makeLogMemory()
  const events = poolEvents(makeMetrics(), log, () => 0)
  for (let times = 0; times < 3; times++) events.betasRefused('north', ['memory-2025-08-18', 'b-1'])
  expect(lines()).toMatchObject([{ upstream: 'north', count: 1, setting: 'drop_betas = ["memory-2025-08-18", "b-1"]' }])
})
