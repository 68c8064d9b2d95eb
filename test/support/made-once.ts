/**
 * What tests make of the sources, once for all test processes that find the same ones: it lies where Chromium does, under a name that says what it was made of.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

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
  // In a folder that gets its name when it is whole: two at once, or one that was stopped, leave nothing broken.
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...argumentsFor(partial)], { cwd: ROOT })
  if (exitCode !== 0) throw new Error(stderr.toString())
  if (existsSync(folder)) rmSync(partial, { recursive: true })
  else renameSync(partial, folder)
  removeOld()
  return folder
}

function nameOfSources(): string {
  const hash = new Bun.CryptoHasher('sha256').update(Bun.version)
  for (const path of [...new Bun.Glob('{src,db}/**/*').scanSync(ROOT), 'package.json', 'bun.lock', 'tsconfig.json'].sort())
    hash.update(path).update(readFileSync(join(ROOT, path)))
  return hash.digest('hex').slice(0, 16)
}

function removeOld(): void {
  for (const other of readdirSync(FOLDER)) {
    const path = join(FOLDER, other)
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
