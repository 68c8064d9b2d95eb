/**
 * How a gateway leaves: its clients move to the processes that listen beside it, streams get time to finish, the rest is ended, and the ledger is flushed.
 * Rules: operator.md "Shutdown", "Upgrade".
 */

import type { World } from './world.ts'

const QUIET_MS = 2_000
const LOOK_MS = 50
/** The time that a stream which was just ended, or a closing socket, may still take. */
const LAST_WAIT_MS = 2_000

type Running = Readonly<{ running: number; whenIdle(): Promise<void> }>
type Listening = Readonly<{
  connections(): Promise<number | undefined>
  hasSuccessor(): Promise<boolean>
  stopAccepting(): Promise<boolean>
  leave(): Promise<boolean>
  stop(): Promise<void>
  close(): Promise<void>
}>
/** `closing`: parts that no request needs any more, in the order in which they close; the ledger closes after them. */
type Parts = Readonly<{
  state: { isLeaving: boolean; isDraining: boolean }
  /** How long `/readyz` tells a balancer to send no more requests, before any request is refused. */
  delayMs: () => number
  world: World
  listeners: Listening
  relay: Running
  live: Readonly<{ drain(): Promise<void> }>
  bodyReader: Readonly<{ close(): void }>
  closing: readonly (Readonly<{ close(): Promise<void> }> | undefined)[]
}>

export type Departure = Readonly<{
  /** Refuses new requests, lets streams finish for `drain_ms`, ends the rest with their format's error, flushes the ledger. */
  drain(): Promise<void>
  /** Makes a drain that has begun stop waiting for streams. */
  hurry(): void
}>

export function departure({ state, delayMs, world, listeners, relay, live, bodyReader, closing }: Parts): Departure {
  const { monotonicMs } = world.clock
  const hurry = Promise.withResolvers<void>()
  return {
    async drain() {
      state.isLeaving = true
      // A successor answers at the same address, so a balancer may go on sending requests.
      const isAwaited = delayMs() > 0 && !(await listeners.hasSuccessor())
      if (isAwaited) await within(delayMs(), hurry.promise)
      const until = monotonicMs() + world.limits().drainMs
      if (await (isAwaited ? listeners.leave() : listeners.stopAccepting()))
        await within(until - monotonicMs(), clientsGone(relay, listeners), hurry.promise)
      state.isDraining = true
      const stopped = listeners.stop()
      await within(until - monotonicMs(), relay.whenIdle(), hurry.promise)
      await live.drain()
      bodyReader.close()
      await within(LAST_WAIT_MS, relay.whenIdle())
      await within(LAST_WAIT_MS, stopped)
      await listeners.close()
      for (const part of closing) await part?.close()
      await world.ledger.close()
      world.log.flush()
    },
    hurry: () => hurry.resolve(),
  }
}

/**
 * Resolves when the clients are with the process that listens now: the requests that ran have ended, and every kept connection has had an answer with
 * `Connection: close`, or was idle for a moment. An answer that had begun before the departure could not have that header.
 */
async function clientsGone(relay: Running, { connections }: Pick<Listening, 'connections'>): Promise<void> {
  do {
    await relay.whenIdle()
    for (let waitedMs = 0; waitedMs < QUIET_MS && (await connections()) !== 0; waitedMs += LOOK_MS) await Bun.sleep(LOOK_MS)
  } while (relay.running > 0)
}

/** Waits for the first of `ends`, at most `waitMs`; leaves no timer behind, since a timer would keep the process alive. */
async function within(waitMs: number, ...ends: readonly Promise<unknown>[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, waitMs)
  await Promise.race([...ends, late])
  clearTimeout(timer)
}
