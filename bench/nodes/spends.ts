/** The ledger alone: how many settles a second several processes can write, and how long a settle takes at half of that rate. */

import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { SQL } from 'bun'
import type { Place } from '../../src/ledger/place.ts'
import type { Postgres } from '../../test/support/postgres-server.ts'
import { cpuOf, since, withChildren } from '../load/cpu.ts'
import { startFile } from '../load/processes.ts'
import type { Readings } from '../readings.ts'
import { turns } from '../statistics.ts'
import { digits } from '../units.ts'
import type { Opening, SpendJob, Spent } from './spender.ts'

/** A store, and the folders of the processes that write to it. `url` undefined: the store is a file in the first folder. */
export type Cast = Readonly<{ name: string; folders: readonly string[]; url: string | undefined }>

export type SpendPace = Readonly<{ rounds: number; warmMs: number; windowMs: number }>

const ACCOUNTS = [1, 1_000] as const
/** The requests in flight of all processes together. */
const IN_FLIGHT = 512

type Running = Readonly<{ cast: Cast; spenders: readonly ReturnType<typeof startFile>[]; receipts: () => Promise<number> }>

/** Adds readings under `spend.<accounts>.…`: `rate`, `p99`, `half.p99`, and the CPU of one settle in the processes (`cpu`) and in the server (`postgres`). */
export async function measureSpends(
  casts: readonly Cast[],
  postgres: Postgres,
  { rounds, warmMs, windowMs }: SpendPace,
  readings: Readings,
  say: (line: string) => void,
): Promise<void> {
  const running: Running[] = []
  const seen = new Map<Running, number>()
  try {
    for (const cast of casts) running.push(await start(cast))
    for (const one of turns(running, rounds)) {
      for (const accounts of ACCOUNTS) {
        const { name, folders } = one.cast
        const processes = folders.length
        const add = (metric: string, figure: number): void => readings.add(`spend.${accounts}.${metric}`, name, figure)
        const spend = async (pace: SpendJob['pace']) => {
          const whole = await spendOnAll(one, postgres, { kind: 'spend', accounts, pace, warmMs, windowMs })
          seen.set(one, (seen.get(one) ?? 0) + whole.all)
          return whole
        }
        const most = await spend({ inFlight: IN_FLIGHT / processes })
        const half = await spend({ perSecond: most.rate / 2 / processes })
        add('rate', most.rate)
        add('p99', most.p99)
        add('half.p99', half.p99)
        add('half.p50', half.p50)
        add('cpu', most.cpuUs)
        if (one.cast.url !== undefined) add('postgres', most.postgresUs)
        const [cpu, server] = [digits(most.cpuUs), digits(most.postgresUs)]
        say(
          `${name}, ${accounts} accounts: ${digits(most.rate)}/s, p99 ${digits(most.p99 / 1_000)} ms, CPU ${cpu} + ${server} µs; ` +
            `at half p50 ${digits(half.p50 / 1_000)}, p99 ${digits(half.p99 / 1_000)} ms (${digits(half.rate)}/s)`,
        )
      }
    }
    for (const one of running) {
      for (const spender of one.spenders) await spender.ask({ kind: 'close' })
      const [receipts, settles] = [await one.receipts(), seen.get(one) ?? 0]
      if (receipts !== settles) throw new Error(`${one.cast.name}: ${settles} settles, and ${receipts} receipts in the ledger`)
    }
  } finally {
    await Promise.all(running.flatMap(({ spenders }) => spenders.map(({ stop }) => stop())))
  }
}

async function start(cast: Cast): Promise<Running> {
  const spenders = cast.folders.map(() => startFile('../nodes/spender.ts'))
  for (const [index, spender] of spenders.entries()) {
    await spender.hello
    const place = placeOf(cast, index)
    failed(await spender.ask({ kind: 'open', place, accounts: Math.max(...ACCOUNTS), makesAccounts: index === 0 } satisfies Opening))
  }
  return { cast, spenders, receipts: () => receiptsOf(cast) }
}

const pathOf = ({ folders }: Cast, index: number): string => join(folders[index] ?? '', 'ledger.db')

function placeOf(cast: Cast, index: number): Place {
  const path = pathOf(cast, index)
  if (cast.url === undefined) return { kind: 'sqlite', path }
  return { kind: 'postgres', path, url: cast.url, node: `bench-${index}`, leaseMs: 10_000, statementKey: undefined }
}

async function receiptsOf(cast: Cast): Promise<number> {
  const count = 'SELECT count(*) AS count FROM receipts'
  if (cast.url === undefined) {
    using db = new Database(pathOf(cast, 0), { readonly: true })
    return db.query<{ count: number }, []>(count).get()?.count ?? 0
  }
  const sql = new SQL({ url: cast.url, max: 1, connection: { search_path: 'ledger' } })
  try {
    const [row] = (await sql.unsafe(count)) as readonly { count: string }[]
    return Number(row?.count)
  } finally {
    await sql.close()
  }
}

/** The figures of all processes together. Quantiles are those of the slowest process; CPU is that of one settle. */
type Whole = Readonly<{ rate: number; p50: number; p99: number; cpuUs: number; postgresUs: number; all: number }>

async function spendOnAll({ spenders }: Running, postgres: Postgres, job: SpendJob): Promise<Whole> {
  const all = spenders.map((spender) => spender.ask(job).then(failed))
  await Bun.sleep(job.warmMs)
  const before = cpuOf(withChildren(postgres.pid()))
  await Bun.sleep(job.windowMs)
  const server = since(cpuOf(withChildren(postgres.pid())), before)
  const each = (await Promise.all(all)) as readonly Spent[]
  const sum = (of: (one: Spent) => number): number => each.reduce((total, one) => total + of(one), 0)
  const settles = sum((one) => one.settles)
  return {
    rate: sum((one) => one.settles / one.seconds),
    p50: Math.max(...each.map(({ p50 }) => p50)),
    p99: Math.max(...each.map(({ p99 }) => p99)),
    cpuUs: sum((one) => one.cpuUs) / settles,
    postgresUs: server.all / settles,
    all: sum((one) => one.all),
  }
}

function failed(answer: unknown): unknown {
  if (typeof answer === 'object' && answer !== null && 'crash' in answer) throw new Error(String(answer.crash))
  return answer
}
