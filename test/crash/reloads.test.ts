/**
 * Every reload that took effect has exactly one line in the audit log, whoever asked for it and however many processes took it over: the console and the API write their own, a
 * signal's is written by all that change, and is one. Rules: operator.md "Reload", "Audit".
 */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { postgresTest } from '../support/postgres.ts'
import { createPostgresLedger } from '../support/postgres-connection.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, Place } from './process.ts'
import { linesOf, pidOf } from './relay-load.ts'

setDefaultTimeout(240_000)

type AuditLine = Readonly<{ action: string; actor: string; after: object }>

const places: Place[] = []
afterEach(async () => {
  for (const place of places.splice(0)) await place.remove()
})

const RELOADED = 'configuration reloaded'
const reloadsOf = (gateway: GatewayProcess): number => linesOf(gateway).filter(({ notice }) => notice === RELOADED).length

/** A folder whose file is written with another limit each time, so that each reload changes one setting. */
class Folder {
  readonly place: Place
  readonly #ledger: string
  #limit = 1_000
  constructor(ledger = '', env = {}) {
    this.place = new Place(undefined, env)
    this.#ledger = ledger
    places.push(this.place)
    this.change()
  }
  change(): void {
    this.#write(`requests_per_minute = ${++this.#limit}\n`)
  }
  break(): void {
    this.#write('requests_per_minuet = 5\n')
  }
  #write(limits: string): void {
    this.place.write('tollgate.toml', `[operator]\nport = 0\n${this.#ledger}[limits]\n${limits}`)
  }
  /** Who is written to have reloaded, oldest first. */
  async lines(): Promise<readonly AuditLine[]> {
    const { data } = await this.place.json<{ data: readonly AuditLine[] }>('audit', 'list')
    return data.filter(({ action }) => action === 'reload').toReversed()
  }
  /** Waits until there are so many lines; where there are more, a later look at all of them says so. */
  async linesAre(count: number): Promise<readonly AuditLine[]> {
    await until(async () => (await this.lines()).length >= count, `${count} lines`)
    return await this.lines()
  }
}

/** Does what makes processes reload, and waits until all of them have, so many times. */
async function reloading(gateway: GatewayProcess, times: number, act: () => unknown): Promise<void> {
  const before = reloadsOf(gateway)
  await act()
  await until(() => reloadsOf(gateway) >= before + times, `${times} reloads`)
}

async function askOverApi({ place }: Folder, gateway: GatewayProcess): Promise<() => Promise<void>> {
  const { token } = await place.json<{ token: string }>('tokens', 'create', 'shop', '--scope', 'all')
  const base = linesOf(gateway).findLast(({ operator_url: url }) => url !== undefined)?.operator_url
  return async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${base}/api/v1/reload`, { method: 'POST', headers, body: '{}' })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('requests_per_minute')])
  }
}

test('one process: a signal and the API have one line each; what changes nothing and a broken file have none', async () => {
  const folder = new Folder()
  const gateway = await folder.place.serve()
  const ask = await askOverApi(folder, gateway)
  const signal = (): void => gateway.signal('SIGHUP')
  folder.change()
  await reloading(gateway, 1, signal)
  expect(await folder.linesAre(1)).toMatchObject([{ actor: 'signal', address: '', after: { changes: 1 } }] as object[])
  await reloading(gateway, 1, signal)
  folder.break()
  signal()
  await gateway.said('the configuration that was running stays in force')
  folder.change()
  await reloading(gateway, 1, ask)
  folder.change()
  await reloading(gateway, 1, signal)
  expect((await folder.linesAre(3)).map(({ actor, after }) => [actor, after])).toEqual([
    ['signal', { changes: 1 }],
    ['token:shop', { changes: 1 }],
    ['signal', { changes: 1 }],
  ])
})

test('several processes on a file: a signal to the parent, to all of them or to one has one line, and so has the API', async () => {
  const folder = new Folder()
  const gateway = await folder.place.serve({ args: ['--processes', '2'] })
  const ask = await askOverApi(folder, gateway)
  folder.change()
  await reloading(gateway, 3, () => gateway.signal('SIGHUP'))
  folder.change()
  await reloading(gateway, 3, ask)
  folder.change()
  // As a supervisor does that signals a whole group: each of the four has all three reload.
  await reloading(gateway, 12, () => {
    gateway.signal('SIGHUP')
    for (const index of [0, 1, 2]) process.kill(pidOf(gateway, index), 'SIGHUP')
  })
  folder.change()
  await reloading(gateway, 3, () => process.kill(pidOf(gateway, 2), 'SIGHUP'))
  expect((await folder.linesAre(4)).map(({ actor, after }) => [actor, after])).toEqual([
    ['signal', { changes: 1 }],
    ['token:shop', { changes: 1 }],
    ['signal', { changes: 1 }],
    ['signal', { changes: 1 }],
  ])
})

test('a signal has its line also where a process began anew between the edit of the file and the signal: the ledger process, or a relay', async () => {
  const folder = new Folder()
  const gateway = await folder.place.serve({ args: ['--processes', '2'] })
  for (const [line, index] of [0, 1].entries()) {
    folder.change()
    const before = pidOf(gateway, index)
    process.kill(before, 'SIGKILL')
    await until(() => pidOf(gateway, index) !== before, 'it begins anew')
    const isThere = async () => (await folder.place.run('holds', 'list')).code === 0
    await until(isThere, 'the ledger process is there')
    await reloading(gateway, 3, () => gateway.signal('SIGHUP'))
    expect((await folder.linesAre(line + 1)).map(({ actor, after }) => [actor, after])).toEqual(
      Array.from({ length: line + 1 }, () => ['signal', { changes: 1 }]),
    )
  }
})

postgresTest(
  'nodes on Postgres: each reads its own file and has a line that names it, also where a node is several processes',
  async () => {
    const env = { LEDGER_URL: await createPostgresLedger() }
    const nodes: { folder: Folder; gateway: GatewayProcess; count: number }[] = []
    for (const [name, count] of [
      ['north', 1],
      ['south', 2],
    ] as const) {
      const folder = new Folder(`[ledger]\nurl_env = "LEDGER_URL"\nnode = "${name}"\n`, env)
      const args = count === 1 ? [] : ['--processes', String(count)]
      nodes.push({ folder, count, gateway: await folder.place.serve({ args }) })
    }
    for (const { folder, gateway, count } of nodes) {
      folder.change()
      await reloading(gateway, count, () => gateway.signal('SIGHUP'))
    }
    const [, south] = nodes
    if (south === undefined) throw new Error('there are two')
    await south.folder.linesAre(2)
    const ask = await askOverApi(south.folder, south.gateway)
    south.folder.change()
    await reloading(south.gateway, south.count, ask)
    expect((await south.folder.linesAre(3)).map(({ actor, after }) => [actor, after])).toEqual([
      ['signal', { changes: 1, node: 'north' }],
      ['signal', { changes: 1, node: 'south' }],
      ['token:shop', { changes: 1, node: 'south' }],
    ])
  },
)
