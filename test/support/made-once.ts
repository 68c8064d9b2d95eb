/**
 * What tests make of the sources, once for all test processes that find the same ones: it lies where Chromium does, under a name that says what it was made of.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { nameWhole } from './whole-folder.ts'

export const ROOT = join(import.meta.dir, '../..')
const FOLDER = join(ROOT, 'node_modules/.cache/tollgate')
/** Another run may still be with one that is younger. */
const KEPT_MS = 3_600_000

let name: string | undefined

/** The folder that `bun ARGUMENTS FOLDER…` has filled. `argumentsFor`: what makes it there. */
export function madeOnce(what: string, argumentsFor: (folder: string) => readonly string[]): string {
  name ??= nameOfSources()
  const folder = join(FOLDER, `${what}-${name}`)
  if (existsSync(folder)) return folder
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...argumentsFor(partial)], { cwd: ROOT })
  if (exitCode !== 0) throw new Error(stderr.toString())
  nameWhole(partial, folder)
  removeOld(name)
  return folder
}

function nameOfSources(): string {
  const hash = new Bun.CryptoHasher('sha256').update(Bun.version)
  for (const path of [...new Bun.Glob('{src,db}/**/*').scanSync(ROOT), 'package.json', 'bun.lock', 'tsconfig.json'].sort())
    hash.update(path).update(readFileSync(join(ROOT, path)))
  return hash.digest('hex').slice(0, 16)
}

/** What was made of other sources. A folder that is being made by another process may get its name, and be gone, between two looks. */
function removeOld(ofSources: string): void {
  for (const other of readdirSync(FOLDER)) {
    if (other.endsWith(`-${ofSources}`)) continue
    const path = join(FOLDER, other)
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (madeAt !== undefined && Date.now() - madeAt > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
