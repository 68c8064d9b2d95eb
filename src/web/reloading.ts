/**
 * A reload that is looked at first and then done as it was looked at: what the file, or the configuration in force, has become meanwhile is never taken over unseen. Rules:
 * pages.md "Catalog"; operator.md "Reload".
 */

import { randomBytes } from 'node:crypto'
import { type Config, nodeOfSet } from '../config/config.ts'
import type { ConfigProblems } from '../config/problems.ts'
import { type ReloadPreview, reloadPreview } from '../config/reload-preview.ts'
import type { Operation, OperationOf } from '../ledger/operation.ts'
import type { World } from '../world.ts'

/** After this time a reload that has not come into force may be asked for again. */
const UNDERWAY_MS = 10_000

/** `stale`: what was looked at is not what a reload would do now. `already`: the same reload is under way. `not noted`: the audit log has no line, so nothing was asked for. */
export type Reloading<Refusal> =
  | Readonly<{ result: 'asked' | 'already' | 'stale' | 'mistakes' | 'nothing'; preview: ReloadPreview }>
  | Readonly<{ result: 'not noted'; refusal: Refusal; preview: ReloadPreview }>

/** Writes a line of the audit log; a value is why it could not. */
type Note<Refusal> = (operation: Operation) => Promise<Refusal | undefined>

type Parts = Readonly<{
  world: Pick<World, 'clock'>
  config: () => Config
  readConfig: () => Config | ConfigProblems
  askReload: () => void
}>

export type Reloads = ReturnType<typeof reloadsOf>

/** Made once for a gateway, so that console and operator's API look at the same file, know each other's digests and are one act. */
export function reloadsOf({ config, readConfig, askReload, world }: Parts) {
  const secret = randomBytes(32).toString('hex')
  const preview = (): ReloadPreview => reloadPreview(config(), readConfig(), secret)
  let underway: Readonly<{ digest: string | null; inForce: Config; operation: OperationOf<'reload'> }> | undefined
  const underwayAs = (digest: string | null) =>
    underway?.digest === digest && underway.inForce === config() && world.clock.now() - underway.operation.now < UNDERWAY_MS
      ? underway.operation
      : undefined

  async function reload<Refusal>(digest: string | undefined, note: Note<Refusal>): Promise<Reloading<Refusal>> {
    const found = preview()
    if (found.problems.length > 0) return { result: 'mistakes', preview: found }
    if (digest !== undefined && found.digest === null) return { result: 'nothing', preview: found }
    if (digest !== undefined && found.digest !== digest) return { result: 'stale', preview: found }
    const earlier = underwayAs(found.digest)
    const pressed = { digest: found.digest, inForce: config() }
    // The same operation as the one under way is noted, which leaves no second line.
    const operation =
      earlier ?? ({ kind: 'reload', changes: found.changes.length, node: nodeOfSet(config()), now: world.clock.now() } as const)
    const refusal = await note(operation)
    if (refusal !== undefined) return { result: 'not noted', refusal, preview: found }
    if (earlier !== undefined) return { result: 'already', preview: found }
    // The file may have been written while the line was: the log then says that nothing came of it.
    const now = digest === undefined ? found : preview()
    if (now.digest !== found.digest) {
      const unsaid = await note({ kind: 'refuseReload', changes: operation.changes, now: operation.now })
      return unsaid === undefined ? { result: 'stale', preview: now } : { result: 'not noted', refusal: unsaid, preview: now }
    }
    underway = { ...pressed, operation }
    askReload()
    return { result: 'asked', preview: found }
  }

  let last: Promise<unknown> = Promise.resolve()
  return {
    preview,
    /**
     * One at a time, so that who comes second is told what became of the first. `digest`: of the look; undefined: whatever the file has become is reloaded, as by a signal.
     * `note` writes the line, which comes before the effect.
     */
    reload<Refusal>(digest: string | undefined, note: Note<Refusal>): Promise<Reloading<Refusal>> {
      const done = last.then(() => reload(digest, note))
      last = done.catch(() => undefined)
      return done
    },
  }
}
