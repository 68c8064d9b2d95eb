/**
 * `serve --processes 2` on a ledger in a file, whose ledger process has a full disk, or whose socket is cut: what a client saw whole is charged once, in whichever state the ledger
 * process is begun anew. The full disk is a limit on the size of the process's files, as in disk.test.ts. Rules: processes.md "Death"; ledger.md "Failing writes", "Spill".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { renameSync } from 'node:fs'
import { socketBeside } from '../../src/ledger/relays/socket-file.ts'
import { cutter } from '../support/relays.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, type Key, Place } from './process.ts'
import { expectBooked, isHolding, Load, linesOf, pidOf } from './relay-load.ts'

setDefaultTimeout(240_000)

let place: Place
let key: Key
beforeEach(async () => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n[limits]\nrequests_per_minute = 100000\n')
  key = await place.createKey()
})
afterEach(() => place.remove())

/** No file of the process may be longer. `unlimited` lifts it. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(pid), `--fsize=${bytes}:unlimited`])
  if (exitCode !== 0) throw new Error(stderr.toString())
}

async function begin() {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const load = new Load(gateway.url, key.key)
  const running = load.run(8)
  const answeredMore = async (): Promise<void> => {
    const seen = load.whole.size
    await until(() => load.whole.size > seen + 10, 'clients are answered')
  }
  await answeredMore()
  return { gateway, load, running, answeredMore }
}

async function end({ gateway, load, running }: Readonly<{ gateway: GatewayProcess; load: Load; running: Promise<void> }>): Promise<void> {
  load.isOver = true
  await running
  await until(async () => !(await isHolding(place)), 'nothing is held')
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, load.whole)
  await place.verify()
}

/** Enough for a few frames of a spill, or for none. */
for (const [bytes, what] of [
  [16_384, 'ends are kept by its spill'],
  [16, 'its spill cannot keep an end either'],
] as const) {
  test(`where the disk of the ledger process is full and ${what}, nothing is admitted, and all comes back with the space or with a new process`, async () => {
    const set = await begin()
    const { gateway, load, answeredMore } = set
    for (const how of ['space', 'death'] as const) {
      const pid = pidOf(gateway, 0)
      const refused = load.refused.length
      limitFiles(pid, bytes)
      await until(() => load.refused.length > refused + 20, 'new requests are refused')
      expect(load.refused.filter((status) => status !== 503)).toEqual([])
      if (how === 'space') limitFiles(pid, 'unlimited')
      else process.kill(pid, 'SIGKILL')
      await answeredMore()
    }
    if (bytes > 16) expect(load.cut).toBe(0)
    await end(set)
  })
}

test('a socket that is cut between real processes, for a moment or for long, breaks no stream and charges none twice', async () => {
  const set = await begin()
  const { gateway, load, answeredMore } = set
  const socket = socketBeside(place.ledgerPath, 'relays')
  renameSync(socket, `${socket}.own`)
  let between = cutter(`${socket}.own`, socket)
  try {
    // The relays that begin now find the ledger process through the cutter.
    for (const index of [1, 2]) {
      const pid = pidOf(gateway, index)
      process.kill(pid, 'SIGKILL')
      await until(() => pidOf(gateway, index) !== pid, 'another is begun in its place')
    }
    await until(() => between.count() === 2, 'both have joined')
    await answeredMore()
    const cutBefore = load.cut
    for (let n = 0; n < 10; n++) {
      await answeredMore()
      between.cut()
    }
    await answeredMore()
    between.close()
    between.cut()
    await until(() => linesOf(gateway).some(({ fault = '' }) => fault.includes('keeps the ends of requests')), 'relays keep ends')
    between = cutter(`${socket}.own`, socket)
    await answeredMore()
    expect(load.cut).toBe(cutBefore)
    await end(set)
  } finally {
    between.close()
  }
})
