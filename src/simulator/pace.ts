/** Time in the simulator: tokens a second, and the pull stream that releases each step when it is due. A reader that stops reading stops the answer. */

import type { Step } from './steps.ts'

export type SimulatorClock = Readonly<{
  /** Milliseconds that never jump. */
  nowMs(): number
  /** Resolves when the time is over, or early when `signal` aborts; never rejects. */
  sleep(waitMs: number, signal: AbortSignal): Promise<void>
}>

export const SIMULATOR_CLOCK: SimulatorClock = {
  nowMs: () => performance.now(),
  sleep: (waitMs, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      signal.addEventListener('abort', wake)
    }),
}

/** How long so many tokens take; at speed 0 they take no time. */
export const durationMs = (tokens: number, tokensPerSecond: number): number => (tokensPerSecond > 0 ? (tokens * 1000) / tokensPerSecond : 0)

/**
 * The steps as a body. Each pull releases one step, at its time counted from the start, so that sleeping too long once does not slow the whole answer. The body fails with the
 * signal's reason when the signal aborts, also while it sleeps.
 */
export function pacedBody(
  steps: Iterator<Step>,
  tokensPerSecond: number,
  clock: SimulatorClock,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const over = new AbortController()
  let dueMs = clock.nowMs()
  const nextDue = async (): Promise<Step> => {
    const next = steps.next()
    const step = next.done === true ? END : next.value
    // A wait is a silence that the reader must see, so it starts now; tokens keep their schedule even when the reader was late.
    dueMs = step.kind === 'wait' ? Math.max(dueMs, clock.nowMs()) + step.waitMs : dueMs + workMs(step, tokensPerSecond)
    const waitMs = dueMs - clock.nowMs()
    if (waitMs >= 1) await clock.sleep(waitMs, over.signal)
    return step
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = (): void => {
          over.abort()
          controller.error(signal.reason)
        }
        if (signal.aborted) fail()
        else signal.addEventListener('abort', fail, { signal: over.signal })
      },
      async pull(controller) {
        for (;;) {
          const step = await nextDue()
          if (over.signal.aborted) return
          if (step.kind === 'end' || step.kind === 'reset') over.abort()
          if (step.kind === 'end') return controller.close()
          if (step.kind === 'reset') return controller.error(new Error('The simulator broke the connection'))
          if (step.kind === 'bytes' && step.text !== '') return controller.enqueue(encoder.encode(step.text))
        }
      },
      cancel: () => over.abort(),
    },
    { highWaterMark: 0 },
  )
}

const workMs = (step: Step, tokensPerSecond: number): number => (step.kind === 'bytes' ? durationMs(step.tokens, tokensPerSecond) : 0)

const END: Step = { kind: 'end' }
const encoder = new TextEncoder()
