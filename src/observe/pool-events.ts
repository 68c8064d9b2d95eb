/** Passes the events of the upstream pool to the metrics, and those that an operator should see to the log: at most one line a minute and upstream. Rules: operator.md "Log". */

import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { MinutelyNotices } from './minutely-notices.ts'

type Difference = Readonly<{ counter: string; ours: number; theirs: number }>

/** `now`: milliseconds that never jump. */
export function poolEvents({ pool }: Metrics, log: Pick<Log, 'alarm' | 'notice'>, now: () => number) {
  const otherModels = new MinutelyNotices<Readonly<{ asked: string; named: string }>>(
    (upstream, count, models) => log.alarm('an upstream answers with another model', { upstream, count, ...models }),
    now,
  )
  const differences = new MinutelyNotices<Difference>(
    (upstream, count, difference) =>
      log.notice('an upstream counts an answer otherwise than its usage does', { upstream, count, ...difference }),
    now,
  )
  const refusals = new MinutelyNotices<readonly string[]>((upstream, count, betas) => {
    const setting = `drop_betas = [${betas.map((name) => `"${name}"`).join(', ')}]`
    log.notice('an upstream refuses betas of requests', { upstream, count, setting })
  }, now)
  return {
    ...pool,
    betasRefused: (upstream: string, betas: readonly string[]): void => refusals.add(upstream, betas),
    otherModel(upstream: string, asked: string, named: string): void {
      pool.otherModel(upstream)
      otherModels.add(upstream, { asked, named })
    },
    countDiffers(upstream: string, difference: Difference): void {
      pool.countDiffers(upstream, difference.counter)
      differences.add(upstream, difference)
    },
  }
}
