/**
 * A Postgres of this machine for tests and benchmarks: a server in a folder, on a port of its own, with a fresh database for whoever asks. It syncs
 * as a real one does, and can be stopped, killed and started again. A watch ends it and takes its folder away when the process that started it is gone, however
 * that died.
 */

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { likelyFreePort } from './free-port.ts'
import { control, copyCluster, copyData, PASSWORD, versionIn, writeForServer } from './postgres-cluster.ts'
import { until } from './until.ts'

const START_ATTEMPTS = 50
const STRATEGY_VERSION_MIN = 15

export type Postgres = Readonly<{
  port: number
  /** Of the server's first process; the others are its children. */
  pid(): number
  /** What it has said so far, such as which statements failed. */
  log(): string
  /**
   * The address of a fresh database, owned by the role that it names, which is no superuser. `like` is that of another database of this server: a copy of it,
   * to which nobody may be connected meanwhile.
   */
  createDatabase(like?: string): Promise<string>
  /** What makes a database as a copy of this one, for a statement that makes it. */
  copyOf(database: string): string
  /** The address of the same database for a superuser. */
  asSuperuser(url: string): string
  /** Connections end a moment after they are closed; a database is copied only when there is none. */
  untilNobodyIsConnected(url: string): Promise<void>
  /** `immediate`: without a checkpoint, as when the power goes; all connections are cut. Returns when it is gone. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** A standby becomes a server that takes writes, on a timeline of its own. Returns when it does. */
  promote(): Promise<void>
  /** A statement of a superuser. */
  ask<Row>(statement: string, database?: string): Promise<readonly Row[]>
  /** SIGKILL to the server's first process, whose children end then. */
  kill(): Promise<void>
  /** Starts it again on its port; it recovers first. Returns when it takes connections. */
  start(): Promise<void>
}>

/** The one that runs in this folder already, if any does. */
export async function findPostgres(folder: string): Promise<Postgres | undefined> {
  const path = join(folder, 'port')
  if (!existsSync(path)) return undefined
  const port = Number(readFileSync(path, 'utf8'))
  const isServing = await asSuperuser(port, 'SELECT 1').then(
    () => true,
    () => false,
  )
  return isServing ? serve(folder, port, []) : undefined
}

/**
 * `folder` must lie where `nobody` may go, and what is there goes away. `settings`: such as `shared_buffers=256MB`, beyond those of the cluster.
 */
export async function startPostgres(folder: string, settings: readonly string[] = []): Promise<Postgres> {
  rmSync(folder, { recursive: true, force: true })
  await copyCluster(folder)
  watch(folder)
  return await serving(folder, settings)
}

/**
 * A standby of the server that runs in `primaryFolder`, which is stopped for it and started again: its files as they are then, and what is written from then on by
 * streaming, under the name `standby`.
 */
export async function startStandby(primary: Postgres, primaryFolder: string, folder: string): Promise<Postgres> {
  await primary.stop('fast')
  await copyData(primaryFolder, folder)
  await primary.start()
  const from = `host=127.0.0.1 port=${primary.port} user=postgres password=${PASSWORD} application_name=standby`
  writeForServer(join(folder, 'data/standby.signal'), '')
  writeForServer(join(folder, 'data/postgresql.auto.conf'), `primary_conninfo = '${from}'\nhot_standby = on\n`)
  watch(folder)
  return await serving(folder, [])
}

/** In a folder with data of its own: it recovers first. */
export async function serving(folder: string, settings: readonly string[]): Promise<Postgres> {
  const serveAt = async (): Promise<Postgres> => {
    const port = likelyFreePort()
    await startServer(folder, port, settings)
    writeFileSync(join(folder, 'port'), `${port}`)
    return serve(folder, port, settings)
  }
  return await untilStarted(folder, serveAt)
}

/** Of its own session: Bun ends the children of a test that takes too long. */
function watch(folder: string): void {
  const script = `
    while kill -0 ${process.pid} 2>/dev/null; do sleep 0.5; done
    server=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$server" && while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
    rm -rf "$0"`
  spawn('sh', ['-c', '(trap "" INT TERM HUP; sh -c "$1" "$0") &', folder, script], { stdio: 'ignore', detached: true }).unref()
}

function startServer(folder: string, port: number, settings: readonly string[]): Promise<void> {
  const options = [`-p ${port}`, ...settings.map((setting) => `-c ${setting}`)].join(' ')
  return control(join(folder, 'data'), 'start', '-l', join(folder, 'data', 'log'), '-o', options)
}

/** What is over in a moment: a port that is taken, and after SIGKILL the shared memory of the children and the process that is not yet reaped. */
const PASSING = /Address already in use|is still in use|postmaster\.pid" already exists/

/** Any other failure is told at once, with what the server said of it. */
async function untilStarted<Result>(folder: string, start: () => Promise<Result>): Promise<Result> {
  const path = join(folder, 'data', 'log')
  const log = (): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  for (let attempt = 1; ; attempt++) {
    const before = log().length
    try {
      return await start()
    } catch (error) {
      const said = log().slice(before)
      if (attempt === START_ATTEMPTS || !PASSING.test(said)) throw new Error(`Postgres does not start: ${said}`, { cause: error })
      await Bun.sleep(100)
    }
  }
}

function serve(folder: string, port: number, settings: readonly string[]): Postgres {
  const data = join(folder, 'data')
  // Copying its files takes half of what logging its pages does, and is what there was before.
  const strategy = versionIn(data) < STRATEGY_VERSION_MIN ? '' : ' STRATEGY file_copy'
  const copyOf = (database: string): string => `TEMPLATE ${database}${strategy}`
  return {
    port,
    copyOf,
    pid: () => serverOf(data),
    log: () => readFileSync(join(data, 'log'), 'utf8'),
    createDatabase: async (like) => {
      const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
      await asSuperuser(port, `CREATE DATABASE ${name} OWNER tollgate ${copyOf(like === undefined ? 'template1' : databaseOf(like))}`)
      return urlOf('tollgate', port, name)
    },
    asSuperuser: (url) => urlOf('postgres', port, databaseOf(url)),
    untilNobodyIsConnected: async (url) => {
      const connected = `SELECT pid FROM pg_stat_activity WHERE datname = '${databaseOf(url)}'`
      await until(async () => (await asSuperuser(port, connected)).length === 0, 'nobody is connected')
    },
    promote: () => control(data, 'promote'),
    ask: <Row>(statement: string, database = 'postgres') => asSuperuser(port, statement, database) as Promise<readonly Row[]>,
    stop: (mode) => control(data, 'stop', '-m', mode),
    kill: async () => {
      const pid = serverOf(data)
      process.kill(pid, 'SIGKILL')
      await until(() => !isRunning(pid), 'the server is gone')
    },
    start: () => untilStarted(folder, () => startServer(folder, port, settings)),
  }
}

const urlOf = (role: string, port: number, database: string): string => `postgres://${role}:${PASSWORD}@127.0.0.1:${port}/${database}`
const databaseOf = (url: string): string => new URL(url).pathname.slice(1)

async function asSuperuser(port: number, statement: string, database = 'postgres'): Promise<readonly unknown[]> {
  const sql = new SQL({ url: urlOf('postgres', port, database), max: 1 })
  try {
    return await sql.unsafe(statement)
  } finally {
    await sql.close()
  }
}

const serverOf = (data: string): number => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])

/** A process that has ended is a zombie until its parent asks. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`
  return existsSync(path) && !readFileSync(path, 'utf8').includes(') Z ')
}
