/** A form's one act: whether it runs, why it failed, and how many seconds must pass before it may be tried again. */

import { useEffect, useState } from 'preact/hooks'
import type { AskResult, Failure } from './ask.ts'

export type Act = Readonly<{
  isRunning: boolean
  failure: Failure | undefined
  /** The seconds until the act may be tried again; 0: now. */
  waitS: number
  /** The mistake in the input of this name. */
  errorOf: (field: string) => string | undefined
  /** The error where it names no input, or none of `fields`. */
  otherError: (fields: readonly string[]) => string | undefined
  run: <T>(asking: () => Promise<AskResult<T>>, done: (value: T) => void) => void
}>

export function useAct(): Act {
  const [isRunning, setRunning] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const [waitS, setWaitS] = useState(0)
  useEffect(() => {
    if (waitS <= 0) return
    const timer = setTimeout(() => setWaitS((left) => left - 1), 1_000)
    return () => clearTimeout(timer)
  }, [waitS])
  const act = async <T>(asking: () => Promise<AskResult<T>>, done: (value: T) => void): Promise<void> => {
    setRunning(true)
    setFailure(undefined)
    const asked = await asking()
    setRunning(false)
    if (asked.failure === undefined) return done(asked.value)
    setFailure(asked.failure)
    setWaitS(asked.failure.status === 429 ? (asked.failure.retryAfterS ?? 1) : 0)
  }
  return {
    isRunning,
    failure,
    waitS,
    errorOf: (field) => (failure?.field === field ? failure.message : undefined),
    otherError: (fields) =>
      failure !== undefined && (failure.field === undefined || !fields.includes(failure.field)) ? failure.message : undefined,
    run: (asking, done) => {
      act(asking, done).catch(() => undefined)
    },
  }
}
