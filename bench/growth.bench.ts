/**
 * `bun run bench growth [--receipts N] [--keys N] [--body-bytes N] [--binary FILE]`: what a ledger in use, many keys and long conversations cost, each in steps
 * of ten up to N: CPU a request, start to first answer, size. Without options: a million receipts, a hundred thousand keys and 10 MB.
 */

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fillLedger } from './fill.ts'
import type { Gateway } from './load/gateways.ts'
import { ask } from './load/run-loads.ts'
import { openOwnStage, type Stage } from './load/stage.ts'
import { startToFirstAnswerMs } from './load/start-time.ts'
import { type Installation, startTollgate } from './load/tollgate.ts'
import { IN_ONE_PIECE } from './load/wire.ts'
import { TOLLGATE } from './readings.ts'
import { median } from './statistics.ts'
import { tableText } from './table.ts'
import { inUnit } from './units.ts'

const STARTS = 3
const WARM_MS = 4_000
const WINDOW_MS = 3_000
const CONNECTIONS = 64
/** Two clients with a body of 10 MB each stay within the room for bodies that the gateway gives an account. */
const BODY_CONNECTIONS = 2
const HEAD = ['', 'file', 'start to first answer', 'CPU a request', 'p50', 'p99']

const { values } = parseArgs({
  options: {
    receipts: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '100000' },
    'body-bytes': { type: 'string', default: '10000000' },
    binary: { type: 'string' },
  },
})

/** `[1_000, 10_000, …, most]`. */
function stepsOfTen(least: number, most: number): readonly number[] {
  const steps = Array.from({ length: Math.max(0, Math.ceil(Math.log10(most / least))) }, (_, index) => least * 10 ** index)
  return [...steps, most]
}

/** One row of the table. `keys`: how many keys the ledger has and the clients use. */
async function measureLedger(stage: Stage, name: string, receipts: number, keys: number): Promise<readonly string[]> {
  const installation = stage.installation(TOLLGATE)
  const secrets = fillLedger(installation.folder, receipts, keys)
  const starts: number[] = []
  for (let n = 0; n < STARTS; n++) starts.push(await startToFirstAnswerMs(installation))
  const size = bytesOf(installation)
  const gateway = await startTollgate(TOLLGATE, installation)
  try {
    const seen = await measureRequests(stage, gateway, CONNECTIONS, 0, secrets.slice(0, 10_000))
    return [name, inUnit(size / 1e6, 'MB'), inUnit(median(starts), 'ms'), ...seen]
  } finally {
    await gateway.stop()
  }
}

const bytesOf = ({ folder }: Installation): number => statSync(join(folder, 'data/tollgate.db')).size

async function measureRequests(
  stage: Stage,
  gateway: Gateway,
  connections: number,
  bodyBytes: number,
  bearers: readonly string[],
): Promise<readonly string[]> {
  const job = { plan: IN_ONE_PIECE, connections, rampMs: 0, lags: false, bodyBytes, bearers }
  const { cpu, answers, answer } = await ask(gateway, stage.generators[0], { ...job, warmMs: WARM_MS, windowMs: WINDOW_MS })
  return [inUnit(cpu.all / answers, 'µs'), inUnit(answer.p50, 'µs'), inUnit(answer.p99, 'µs')]
}

const stage = await openOwnStage(values.binary)
const rows: (readonly string[])[] = []
const add = (row: readonly string[]): void => {
  console.error(row.join(' · '))
  rows.push(row)
}
await stage.during(async () => {
  for (const receipts of stepsOfTen(1_000, Number(values.receipts)))
    add(await measureLedger(stage, `${receipts.toLocaleString('en-US')} receipts`, receipts, 1))
  for (const keys of stepsOfTen(1_000, Number(values.keys)))
    add(await measureLedger(stage, `${keys.toLocaleString('en-US')} keys`, 10_000, keys))
  for (const bytes of stepsOfTen(1_000, Number(values['body-bytes'])))
    for (const gateway of stage.gateways)
      add([
        `body of ${bytes.toLocaleString('en-US')} bytes, ${gateway.name}`,
        '',
        '',
        ...(await measureRequests(stage, gateway, BODY_CONNECTIONS, bytes, [])),
      ])
  stage.verify()
})
console.log(tableText(HEAD, rows))
