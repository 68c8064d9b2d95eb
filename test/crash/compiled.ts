/**
 * The program as it ships: compiled once for all test processes that find the same sources, since it starts in a quarter of the time that the sources take. It
 * lies where Chromium does, under a name that says what it was made of.
 */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dir, '../..')
const FOLDER = join(ROOT, 'node_modules/.cache/tollgate')
/** Another run may still be with one that is younger. */
const KEPT_MS = 3_600_000

/** The command that runs it. */
export const PROGRAM: readonly string[] = [await compiled()]

async function compiled(): Promise<string> {
  const folder = join(FOLDER, await nameOfSources())
  const program = join(folder, 'tollgate')
  if (existsSync(program)) return program
  // In a folder that gets its name when it is whole: two at once, or one that was stopped, leave nothing broken.
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const built = Bun.spawnSync([process.execPath, 'run', 'build', '--outfile', join(partial, 'tollgate')], { cwd: ROOT })
  if (built.exitCode !== 0) throw new Error(built.stderr.toString())
  if (existsSync(folder)) rmSync(partial, { recursive: true })
  else renameSync(partial, folder)
  removeOld()
  return program
}

async function nameOfSources(): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256').update(Bun.version)
  for (const path of [...new Bun.Glob('{src,db}/**/*').scanSync(ROOT), 'package.json', 'bun.lock', 'tsconfig.json'].sort())
    hash.update(path).update(await Bun.file(join(ROOT, path)).bytes())
  return hash.digest('hex').slice(0, 16)
}

function removeOld(): void {
  for (const name of readdirSync(FOLDER)) {
    const path = join(FOLDER, name)
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
  }
}
