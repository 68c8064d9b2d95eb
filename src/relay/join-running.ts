/** The part of a repetition in an answer that runs: here, at another relay, or at another node. Rules: requests.md "Joined answers". */

import type { Format } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { describeBug } from '../observe/bug.ts'
import type { RelayParts } from './admitted.ts'
import { awaitElsewhere } from './answer-elsewhere.ts'
import type { BodyLease } from './body-memory.ts'
import type { Hashed } from './body-reader.ts'
import type { Exchange } from './exchange.ts'
import { FollowElsewhere } from './follow-elsewhere.ts'
import type { Elsewhere } from './idempotency.ts'
import { readCall } from './read-call.ts'
import type { Repetition } from './repetition.ts'
import type { JoinedPlace, RunningAnswer } from './running-answer.ts'

/** What a repetition has of its own; the caller gives back what is left of it. */
type Joining = { readonly lease: BodyLease; place: JoinedPlace | undefined }

type Keyed<Echo> = Readonly<{ parts: RelayParts; format: Format<Echo>; request: Request; exchange: Exchange; key: KeyRecord }>

export async function joinRunning(running: RunningAnswer, key: KeyRecord, taken: Joining): Promise<Repetition | Refusal> {
  // The answer that the request had joined may have ended while the body came, and another one may run now.
  const early = taken.place?.answer === running ? taken.place : undefined
  const place = early ?? running.join()
  if (place === undefined || running.hasOutgrown) return new Refusal('repetitionRunning')
  if (early === undefined) {
    taken.place?.leave()
    taken.place = place
  }
  const { elsewhere } = running
  if (elsewhere !== undefined && !(await elsewhere.take())) return new Refusal('repetitionRunning')
  // The place belongs to the repetition now, which leaves it when it has its answer.
  taken.place = undefined
  return {
    kind: 'repetition',
    key,
    of: { running, place },
    lease: taken.lease,
  }
}

/** The body is read to see whether it asks for a stream: that is followed at another relay, and refused where another node has it, which has nothing to give before its end. */
export async function joinElsewhere<Echo>(
  { parts, format, request, key, exchange }: Keyed<Echo>,
  taken: Joining,
  elsewhere: Elsewhere,
  body: Hashed,
): Promise<Repetition | Refusal> {
  const { answer } = elsewhere
  const { world } = parts
  try {
    const call = await readCall(format.name, { parts, request, key, lease: taken.lease }, body.pieces)
    const follow = !(call instanceof Refusal) && call.isStream ? elsewhere.store.follow : undefined
    const stream = follow && new FollowElsewhere(world, elsewhere, follow)
    answer.elsewhere = stream
    const isRefused = !(call instanceof Refusal) && call.isStream && stream === undefined
    const joined = call instanceof Refusal ? call : isRefused ? new Refusal('repetitionRunning') : await joinRunning(answer, key, taken)
    if (joined instanceof Refusal) {
      answer.drop(joined)
      return joined
    }
    const ending = stream === undefined ? awaitElsewhere(world, elsewhere) : stream.run()
    ending.catch((bug: unknown) => world.log.alarm('a request failed by a bug', { request_id: exchange.requestId, ...describeBug(bug) }))
    return joined
  } catch (error) {
    answer.drop()
    throw error
  }
}
