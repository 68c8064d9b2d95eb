/** The kept answers of a gateway: where they lie, whether there are any, and their alarms. Rules: requests.md "Kept answers"; operator.md "Metrics". */

import { type AnswersEvent, answersPathOf, KeptAnswers, removeAnswers } from './answers/kept-answers.ts'
import { RelayedAnswers } from './answers/relayed-answers.ts'
import type { OpenedLedger } from './ledger/open-options.ts'
import type { KeptElsewhere } from './ledger/shared-answers.ts'
import type { World } from './world.ts'

export type AnswersBeside = Readonly<{
  bytesMax: number
  /** Makes a Worker of `src/answers/thread.ts`. */
  startThread: () => Worker
}>

/** How long no further alarm follows one: a full disk fails in the same way with each answer. */
const QUIET_MS = 10 * 60_000

/** Undefined: answers are kept in memory only, or in a table that nodes share. Without room for them in a file, the files of an earlier setting are removed. */
export function answersBeside(
  { path, shared }: OpenedLedger,
  { bytesMax, startThread }: AnswersBeside,
  world: Pick<World, 'log' | 'metrics' | 'clock'>,
): KeptAnswers | undefined {
  if (shared !== undefined) return undefined
  const own = answersPathOf(path)
  if (bytesMax > 0) return new KeptAnswers({ path: own, bytesMax, startThread, onEvent: telling(world) })
  removeAnswers(own)
  return undefined
}

/** Keeps answers that relays hand over: in memory at once, so that another relay finds what the first has just told its client, and in the file where there is one. */
export function keptForRelays(kept: () => KeptAnswers | undefined, now: () => number): KeptElsewhere {
  const memory = new RelayedAnswers({ now })
  return {
    keep(answer) {
      memory.keep(answer)
      kept()?.keep(answer)
    },
    keepUnwritten: (answer) => memory.keep(answer),
    find: async (key, ...ids) => memory.find(key, ids) ?? (await kept()?.find(key, ...ids)) ?? 'unknown',
  }
}

function telling({ log, metrics, clock }: Pick<World, 'log' | 'metrics' | 'clock'>): (event: AnswersEvent) => void {
  let quietUntilMs = 0
  return (event) => {
    if (event.kind === 'setAside') {
      log.alarm('kept answers', {
        fault: `the file was of no use, and another was begun (${event.problem})`,
        set_aside: event.files.join(', '),
      })
      return
    }
    metrics.answersLost(event.answers)
    if (clock.monotonicMs() < quietUntilMs) return
    quietUntilMs = clock.monotonicMs() + QUIET_MS
    log.alarm('kept answers', { fault: `what is finished is not kept for a restart (${event.problem})` })
  }
}
