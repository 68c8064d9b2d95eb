/** No body of 32 MiB, legal or not, holds the thread that it is read on for longer than 3 × `JSON.parse` of it + 50 ms. Rules: requests.md "JSON bounds". */

import { beforeAll, expect, test } from 'bun:test'
import { LIMITS } from '../../../src/core/limits.ts'
import { HEAVY_BODIES, heldMsMax, type Measured } from '../../support/heavy-bodies.ts'

const measured = new Map<string, Measured>()

beforeAll(async () => {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/../../support/heavy-bodies.ts`], { stdout: 'pipe', stderr: 'inherit' })
  for (const line of (await child.stdout.text()).split('\n').filter(Boolean)) {
    const one = JSON.parse(line) as Measured & { name: string }
    measured.set(one.name, one)
  }
}, 900_000)

for (const { name, outcome } of HEAVY_BODIES)
  test(name, () => {
    const one = measured.get(name)
    if (one === undefined) throw new Error(`${name} was not measured`)
    expect([one.outcome, one.outcome === outcome ? '' : one.message.slice(0, 500)]).toEqual([outcome, ''])
    expect(one.bytes).toBeLessThanOrEqual(LIMITS.bodyBytes)
    expect(one.message.length).toBeLessThan(2_000)
    expect(one.heldMs).toBeLessThanOrEqual(heldMsMax(one))
  })
