/** The polite neighbours: what each of their requests takes, and the memory of the gateway meanwhile. */

import { sleep } from '../clock.ts'
import { residentBytes, withChildren } from '../load/cpu.ts'
import type { Installation } from '../load/tollgate.ts'
import { MODEL } from '../load/wire.ts'

export type Seen = Readonly<{ tookMs: readonly number[]; refused: number; residentMb: number }>

/** A request of any neighbour: four ask ten times a second each, since p99 of fewer requests would be the worst of them. */
const EVERY_MS = 25
/** The memory is looked at with each so many of them. */
const LOOK_EVERY = 4
const WARM_REQUESTS = 200

/** Sends one request; gives the status. */
async function ask({ port, key }: Installation): Promise<number> {
  const body = JSON.stringify({ model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
  const response = await fetch(`http://127.0.0.1:${port}/v1/messages`, { method: 'POST', headers: { 'x-api-key': key }, body })
  await response.arrayBuffer()
  return response.status
}

export async function warm(installation: Installation): Promise<void> {
  await Promise.all(Array.from({ length: WARM_REQUESTS }, () => ask(installation)))
}

/** Asks at a steady rate, whether or not earlier requests have ended. */
export async function watch(installation: Installation, pid: number, seconds: number): Promise<Seen> {
  const tookMs: number[] = []
  let refused = 0
  let residentMb = 0
  const asked: Promise<void>[] = []
  const once = async (): Promise<void> => {
    const from = performance.now()
    const status = await ask(installation)
    tookMs.push(performance.now() - from)
    if (status !== 200) refused++
  }
  const from = performance.now()
  for (let n = 0; n < (seconds * 1_000) / EVERY_MS; n++) {
    asked.push(once())
    if (n % LOOK_EVERY === 0) residentMb = Math.max(residentMb, residentBytes(withChildren(pid)) / 1e6)
    await sleep(Math.max(0, from + (n + 1) * EVERY_MS - performance.now()))
  }
  await Promise.all(asked)
  return { tookMs, refused, residentMb }
}
