/**
 * A reload that is looked at first and then done as it was looked at: what the file, or the configuration in force, has become meanwhile is never taken over unseen. Rules:
 * pages.md "Catalog"; operator.md "Reload".
 */

import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { type ReloadPreview, reloadPreview } from '../config/reload-preview.ts'
import type { Operation } from '../ledger/operation.ts'
import type { Site } from './site.ts'

/** After this time a reload that has not come into force may be asked for again. */
const UNDERWAY_MS = 10_000

/** `stale`: what was looked at is not what a reload would do now. `already`: the same reload is under way. `not noted`: the audit log has no line, so nothing was asked for. */
export type Reloading<Refusal> =
  | Readonly<{ result: 'asked' | 'already' | 'stale' | 'mistakes' | 'nothing'; preview: ReloadPreview }>
  | Readonly<{ result: 'not noted'; refusal: Refusal }>

export type Reloads = ReturnType<typeof reloadsOf>

/** Made once for each app of pages: only its own digests are known to it. */
export function reloadsOf({ config, readConfig, askReload, world }: Pick<Site, 'config' | 'readConfig' | 'askReload' | 'world'>) {
  const secret = randomBytes(32).toString('hex')
  const preview = (): ReloadPreview => reloadPreview(config(), readConfig(), secret)
  let underway: Readonly<{ digest: string; inForce: Config; at: number }> | undefined
  const isUnderway = (digest: string): boolean =>
    underway?.digest === digest && underway.inForce === config() && world.clock.now() - underway.at < UNDERWAY_MS
  return {
    preview,
    /** `note`: writes the line of the audit log, which comes before the effect; a value is why it could not. */
    async reload<Refusal>(digest: string, note: (operation: Operation) => Promise<Refusal | undefined>): Promise<Reloading<Refusal>> {
      const found = preview()
      if (found.problems.length > 0) return { result: 'mistakes', preview: found }
      if (found.digest === null) return { result: 'nothing', preview: found }
      if (found.digest !== digest) return { result: 'stale', preview: found }
      if (isUnderway(digest)) return { result: 'already', preview: found }
      const pressed = { digest, inForce: config(), at: world.clock.now() }
      underway = pressed
      const refusal = await note({ kind: 'reload', changes: found.changes.length, now: pressed.at })
      if (refusal !== undefined) {
        underway = undefined
        return { result: 'not noted', refusal }
      }
      // The file may have been written while the line was.
      const now = preview()
      if (now.digest !== digest) {
        underway = undefined
        return { result: 'stale', preview: now }
      }
      askReload()
      return { result: 'asked', preview: found }
    },
  }
}
