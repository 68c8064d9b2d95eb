/** Protects the bench of relays: its picture shows each number of relays in multiples of one, and a quota is a quarter of a core and leaves nothing behind. */

import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { Readings } from '../../bench/readings.ts'
import { relaysPicture } from '../../bench/relays/picture.ts'
import { holdEach } from '../../bench/relays/quota.ts'

test('the picture shows requests a second and streams as multiples of one relay, each as long as its multiple', () => {
  const readings = new Readings()
  for (const [relays, rate] of [
    ['1 relay', 1_500],
    ['2 relays', 3_000],
    ['4 relays', 6_000],
  ] as const) {
    readings.add('held.rate', relays, rate)
    readings.add('held.rate.times', relays, rate / 1_500)
  }
  const svg = relaysPicture(readings, 'a caption')
  expect(svg).toContain('4 × (6,000/s)')
  const [one = 0, two = 0, four = 0] = [...svg.matchAll(/class="us" [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width))
  expect(two).toBeCloseTo(2 * one, 0)
  expect(four).toBeCloseTo(4 * one, 0)
})

test('a process is held to a quarter of a core and let go, or a sentence says why it cannot be', async () => {
  const child = Bun.spawn(['sleep', '600'])
  try {
    const held = holdEach([child.pid])
    if ('why' in held) return expect(held.why).toContain('not held')
    const group = groupOf(child.pid)
    expect(quotaOf(group)).toBe(0.25)
    held.release()
    expect(existsSync(group)).toBe(false)
    expect(groupOf(child.pid)).not.toContain('tollgate-bench')
  } finally {
    child.kill()
    await child.exited
  }
})

/** The folder of the group that has the process's share of processors. */
function groupOf(pid: number): string {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n')
  const [first, second] = [lines.find((line) => /^\d+:[^:]*\bcpu\b[^:]*:/.test(line)), lines.find((line) => line.startsWith('0::'))]
  const path = (line: string): string => line.slice(line.indexOf(':', line.indexOf(':') + 1) + 1)
  return first === undefined ? `/sys/fs/cgroup${path(second ?? '0::/')}` : `/sys/fs/cgroup/cpu${path(first)}`
}

function quotaOf(group: string): number {
  const read = (name: string): string => readFileSync(`${group}/${name}`, 'utf8').trim()
  if (!existsSync(`${group}/cpu.max`)) return Number(read('cpu.cfs_quota_us')) / Number(read('cpu.cfs_period_us'))
  const [quota, period] = read('cpu.max').split(' ').map(Number)
  return (quota ?? 0) / (period ?? 1)
}
