/**
 * What a Postgres for tests is made of: its programs, where `nobody` may run them, and a data folder with its roles, which every test process copies instead of
 * making its own. Both are made once a machine and version.
 */

import { execFile, execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PROGRAMS_ID, placePrograms } from './postgres-programs.ts'
import { nameWhole } from './whole-folder.ts'

export const PASSWORD = 'only-for-tests'
const run = promisify(execFile)
/** Postgres does not run as root: then it runs as `nobody`. */
const NOBODY = 65_534
const IS_ROOT = process.getuid?.() === 0
const AS_SERVER = IS_ROOT ? { uid: NOBODY, gid: NOBODY, cwd: '/' } : { cwd: '/' }
const INITDB = ['--auth=scram-sha-256', '--username=postgres', '--encoding=UTF8', '--wal-segsize=4', '--locale=C']
/** ICU's English order is not that of bytes: a query that counts on the order of bytes without saying so is found out. */
const ICU = ['--locale-provider=icu', '--icu-locale=en-US']
const ICU_VERSION_MIN = 15
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

const CONTENT = PROGRAMS_ID + SETTINGS + INITDB.join() + ICU.join() + ROLES
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

/** That of a server which is stopped, or of one that said that it is backed up; without what is that server's own. */
export async function copyData(from: string, to: string): Promise<void> {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to)
  giveToServer(to)
  await run('cp', ['-r', join(from, 'data'), to], AS_SERVER)
  for (const own of ['postmaster.pid', 'postmaster.opts', 'log']) rmSync(join(to, 'data', own), { force: true })
}

/** Where the server may write. */
export function makeForServer(folder: string): void {
  mkdirSync(folder)
  giveToServer(folder)
}

export function writeForServer(path: string, text: string): void {
  writeFileSync(path, text)
  giveToServer(path)
}

async function prepare(): Promise<void> {
  const partial = `${FOLDER}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial)
  giveToServer(partial)
  placePrograms(partial)
  const passwordFile = join(partial, 'password')
  writeFileSync(passwordFile, PASSWORD)
  const data = join(partial, 'data')
  const initdb = join(partial, 'native/bin/initdb')
  const order = (await versionOf(initdb)) < ICU_VERSION_MIN ? [] : ICU
  await run(initdb, ['-D', data, `--pwfile=${passwordFile}`, ...INITDB, ...order], AS_SERVER)
  appendFileSync(join(data, 'postgresql.conf'), SETTINGS)
  execFileSync(join(partial, 'native/bin/postgres'), ['--single', '-D', data, 'postgres'], { ...AS_SERVER, input: ROLES, stdio: 'pipe' })
  nameWhole(partial, FOLDER)
}

/** Its major version, as its programs say it. */
async function versionOf(program: string): Promise<number> {
  const { stdout } = await run(program, ['--version'], AS_SERVER)
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1])
}

/** That of the server whose data folder this is. */
export const versionIn = (data: string): number => Number(readFileSync(join(data, 'PG_VERSION'), 'utf8'))

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
