/** The kept answers of a gateway: where they lie, whether there are any, and their alarms. Rules: requests.md "Kept answers"; operator.md "Metrics". */

import { type AnswersEvent, answersPathOf, KeptAnswers, removeAnswers } from './answers/kept-answers.ts'
import type { OpenedLedger } from './ledger/open-options.ts'
import type { World } from './world.ts'

export type AnswersBeside = Readonly<{
  bytesMax: number
  /** Makes a Worker of `src/answers/thread.ts`. */
  startThread: () => Worker
}>

/** A full disk says the same with each answer. */
const QUIET_MS = 10 * 60_000

/** Undefined: in memory only, or in a table that nodes share. What was kept under another setting goes. */
export function answersBeside(
  { path, shared }: OpenedLedger,
  { bytesMax, startThread }: AnswersBeside,
  world: World,
): KeptAnswers | undefined {
  if (shared !== undefined) return undefined
  const own = answersPathOf(path)
  if (bytesMax > 0) return new KeptAnswers({ path: own, bytesMax, startThread, onEvent: telling(world) })
  removeAnswers(own)
  return undefined
}

function telling({ log, metrics, clock }: World): (event: AnswersEvent) => void {
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
