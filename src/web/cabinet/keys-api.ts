/** The requests of an account's page of keys. */

import { useEffect, useState } from 'preact/hooks'
import { ask, type Got } from '../parts/ask.ts'
import { api } from './api.ts'

export const keysOf = (accountId: string) => api.accounts({ accountId }).keys
export type Key = Got<ReturnType<typeof keysOf>['get']>['data'][number]

const ASKED_EVERY_MS = 1_500

/** How many requests of each key run now, asked while the page is visible. `changed`: called when the counts have changed. */
export function useRunning(accountId: string, changed: () => void): Readonly<Record<string, number>> | undefined {
  const [running, setRunning] = useState<Readonly<Record<string, number>>>()
  useEffect(() => {
    let seen: string | undefined
    const look = async (): Promise<void> => {
      if (document.visibilityState === 'hidden') return
      const { value } = await ask(api.accounts({ accountId }).running.get())
      if (value === undefined) return
      const found = JSON.stringify(value.running)
      if (found === seen) return
      setRunning(value.running)
      // A request that ended was booked, and one that began may be of a key that is not shown yet.
      if (seen !== undefined) changed()
      seen = found
    }
    const timer = setInterval(() => {
      look().catch(() => undefined)
    }, ASKED_EVERY_MS)
    look().catch(() => undefined)
    return () => clearInterval(timer)
  }, [accountId])
  return running
}

/** A key's id as this page makes it, so that a form that is sent twice makes one key: a UUIDv7 in hex. */
export function newKeyId(nowMs: number): string {
  const random = crypto.getRandomValues(new Uint8Array(10))
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f)
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f)
  return `key_${nowMs.toString(16).padStart(12, '0')}${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
