/** A day of a gateway for pictures: mornings and evenings that differ, an upstream that is slow for an hour, a burst of refusals. The same each time, and it ends now. */

import { HistoryRecorder } from '../../src/core/history/recorder.ts'
import { HistoryFile } from '../../src/history/history-file.ts'

const MINUTES = 24 * 60
const UPSTREAMS = ['upstream-0', 'upstream-1'] as const
const MODELS = ['model-large', 'haiku'] as const

/** Numbers between 0 and 1 that look random (mulberry32). */
function drawn(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `path`: of the history's file. `accounts`: ids of those that ask. `now`: Unix milliseconds. */
export function sampleHistory(path: string, accounts: readonly string[], now: number): void {
  const draw = drawn(27)
  let at = now
  const recorder = new HistoryRecorder({ boot: 'sample', now: () => at })
  const file = new HistoryFile(path)
  const write = (isWhole: boolean): void => {
    const moments = recorder.take()
    file.write(recorder.writer, moments, { now, isWhole })
    recorder.written(moments)
  }
  for (let minute = 0; minute < MINUTES; minute++) {
    at = now - (MINUTES - minute) * 60_000
    const share = minute / MINUTES
    const requests = Math.round(18 + 14 * Math.sin(share * Math.PI * 4) + 8 * draw())
    for (let count = 0; count < requests; count++) recorder.ended(request(draw, share, accounts))
    if (minute % 60 === 0) write(false)
  }
  write(true)
  file.close()
}

function request(draw: () => number, share: number, accounts: readonly string[]) {
  const upstream = draw() < 0.7 ? UPSTREAMS[0] : UPSTREAMS[1]
  const accountId = accounts[Math.floor(draw() ** 2 * accounts.length)]
  const isSlow = upstream === UPSTREAMS[0] && share > 0.62 && share < 0.68
  const firstByteMs = (isSlow ? 1_900 : 420) * (0.5 + draw() + 2 * draw() ** 6)
  const asked = { model: draw() < 0.6 ? MODELS[0] : MODELS[1], upstream, accountId, durationMs: firstByteMs * 5 }
  const isRefused = draw() < (share > 0.4 && share < 0.43 ? 0.3 : 0.02)
  if (!isRefused) return { ...asked, firstByteMs }
  return { accountId, model: asked.model, refusal: draw() < 0.7 ? 'rateLimited' : 'insufficientBalance', durationMs: 2 }
}
