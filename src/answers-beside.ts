/** The kept answers of a gateway: where they lie, whether there are any, and their alarms. Rules: requests.md "Kept answers"; operator.md "Metrics". */

import { LRUCache } from 'lru-cache'
import { type AnswersEvent, answersPathOf, KeptAnswers, removeAnswers } from './answers/kept-answers.ts'
import { nameOf } from './answers/sealing.ts'
import type { OpenedLedger } from './ledger/open-options.ts'
import type { FoundElsewhere, KeptElsewhere } from './ledger/shared-answers.ts'
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

/** The room for an account's last answers until they are on disk, and for all answers where no disk keeps them. */
const RELAYED_BYTES_MAX = 64 * 1024 * 1024

type Relayed = Readonly<{ found: FoundElsewhere; expiresAt: number }>

/** Keeps answers that relays hand over: in memory at once, so that another relay finds what the first has just told its client, and in the file where there is one. */
export function keptForRelays(kept: () => KeptAnswers | undefined, now: () => number): KeptElsewhere {
  const memory = new LRUCache<string, Relayed>({
    maxSize: RELAYED_BYTES_MAX,
    sizeCalculation: ({ found }) => found.parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 1),
  })
  const nameIn = (key: Uint8Array, id: string): string => Buffer.from(nameOf(key, id)).toString('base64')
  return {
    keep(answer) {
      const { key, id, items, expiresAt, text, parts } = answer
      const whole = parts.map(({ pieces, ...part }) => ({ ...part, bytes: Buffer.concat(pieces) }))
      for (const own of [id, ...items]) memory.set(nameIn(key, own), { found: { text, parts: whole }, expiresAt })
      kept()?.keep(answer)
    },
    async find(key, ...ids) {
      for (const id of ids) {
        const known = memory.get(nameIn(key, id))
        if (known !== undefined && known.expiresAt > now()) return known.found
      }
      return (await kept()?.find(key, ...ids)) ?? 'unknown'
    },
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
