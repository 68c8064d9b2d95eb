/** The relay of a gateway, with all that outlives a request: limits of keys, running streams, bodies, kept answers. Rules: house.md "Long-lived things". */

import type { KeptAnswers } from './answers/kept-answers.ts'
import { answersBeside } from './answers-beside.ts'
import type { Config } from './config/config.ts'
import { CountedRates } from './ledger/counted-rates.ts'
import type { OpenedLedger } from './ledger/open-options.ts'
import type { SharedBytes } from './ledger/shared-limits.ts'
import { processMemoryBytes } from './observe/process-memory.ts'
import { BodyMemory, poolBytesOf } from './relay/body-memory.ts'
import { BodyReader } from './relay/body-reader.ts'
import { FollowedThere } from './relay/follow-there.ts'
import { IdempotentResponses } from './relay/idempotent-responses.ts'
import { IdleGarbage } from './relay/idle-garbage.ts'
import { KeyLimits } from './relay/key-limits.ts'
import { LiveStreams } from './relay/live-streams.ts'
import { RateGate, ratesHere } from './relay/rate-gate.ts'
import { RatesElsewhere } from './relay/rates-elsewhere.ts'
import { Relay } from './relay/relay.ts'
import { ResponseMemory } from './relay/response-memory.ts'
import { SharedKeyLimits } from './relay/shared-key-limits.ts'
import { TIMINGS, type Timings } from './relay/timings.ts'
import type { World } from './world.ts'

type Options = Readonly<{
  config: Config
  startBodyThread: () => Worker
  startAnswersThread: () => Worker
  timings?: Timings
  memoryBytes?: number
}>

export type RelayOfGateway = Readonly<{
  relay: Relay
  keyLimits: KeyLimits | SharedKeyLimits
  rates: RateGate
  live: LiveStreams
  bodies: BodyMemory
  bodyReader: BodyReader
  kept: KeptAnswers | undefined
}>

export function relayOfGateway(world: World, opened: OpenedLedger, options: Options): RelayOfGateway {
  const { shared } = opened
  const { monotonicMs: now } = world.clock
  const garbage = new IdleGarbage({ now, after: later, isIdle: () => relay.running === 0, collect: collectAll })
  const live = new LiveStreams(() => garbage.onCalm())
  const counting = { limits: world.limits, now }
  const keyLimits = shared === undefined ? new KeyLimits(counting) : new SharedKeyLimits({ ...counting, shared: shared.limits })
  const store = shared === undefined ? ratesHere(new CountedRates(now)) : new RatesElsewhere({ shared: shared.rates, now })
  const rates = new RateGate({ catalog: world.catalog, now, wallNow: world.clock.now, store })
  const bodies = bodyMemoryOf(world, options.memoryBytes ?? processMemoryBytes(), shared?.bytes)
  const memory = new ResponseMemory({ now })
  const answers = new IdempotentResponses({ now })
  const followed = new FollowedThere(world, answers)
  shared?.claims?.onFollow((ask) => followed.tell(ask))
  const answersAt = { bytesMax: options.config.limits.keptAnswersBytes, startThread: options.startAnswersThread }
  const kept = answersBeside(opened, answersAt, world)
  const onFault = (fault: string): void => world.log.alarm('large bodies', { fault })
  const bodyReader = new BodyReader({ startThread: options.startBodyThread, onFault })
  const relay: Relay = new Relay(
    {
      world,
      keyLimits,
      rates,
      live,
      memory,
      answers,
      kept: kept ?? shared?.kept,
      shared: shared?.answers,
      claims: shared?.claims,
      bodies,
      bodyReader,
      timings: options.timings ?? TIMINGS,
    },
    () => garbage.onEnd(),
  )
  world.ledger.onKeyChange((change) => {
    if (change.stop !== null) live.cut(change).catch(() => undefined)
  })
  return { relay, keyLimits, rates, live, bodies, bodyReader, kept }
}

function bodyMemoryOf({ ledger, limits, clock }: World, memoryBytes: number, shared: SharedBytes | undefined): BodyMemory {
  const now = clock.monotonicMs
  return new BodyMemory({
    ...{ poolBytes: poolBytesOf(memoryBytes), limits, now, shared },
    keyBalanceOf: (keyId) => ledger.keyBalanceOf(keyId),
  })
}

/** A process may end before. */
const later = (ms: number, run: () => void): void => void setTimeout(run, ms).unref()
const collectAll = (): void => void Bun.gc(true)
