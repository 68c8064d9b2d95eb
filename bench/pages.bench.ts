/**
 * `bun run bench pages [--receipts N] [--people N] [--binary FILE]`: what people who look at the cabinet's slowest page cost those who pay. Requests are paid
 * with and without them, in turns; each person asks for the spend of the day by the hour and of 90 days by key of one account with all the receipts, reads for
 * a second, and asks again. Without options: 300,000 receipts and 20 people.
 */

import { parseArgs } from 'node:util'
import { fillLedger } from './fill.ts'
import { ask } from './load/run-loads.ts'
import { openOwnStage } from './load/stage.ts'
import { type Installation, startTollgate } from './load/tollgate.ts'
import { IN_ONE_PIECE } from './load/wire.ts'
import { TOLLGATE } from './readings.ts'
import { median, quantile, turns } from './statistics.ts'
import { tableText } from './table.ts'
import { inUnit } from './units.ts'

const ROUNDS = 6
const WARM_MS = 2_000
const WINDOW_MS = 5_000
const CONNECTIONS = 8
const READING_MS = 1_000
const DAY_MS = 86_400_000

const { values } = parseArgs({
  options: { receipts: { type: 'string', default: '300000' }, people: { type: 'string', default: '20' }, binary: { type: 'string' } },
})

function json<Document>({ binary, folder }: Installation, ...args: readonly string[]): Document {
  const { stdout, stderr, exitCode } = Bun.spawnSync([binary, ...args, '--json'], { cwd: folder })
  if (exitCode !== 0) throw new Error(`tollgate ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout.toString()) as Document
}

/** The cookie of a person who came in by an invitation to that account. */
async function comeIn(installation: Installation, email: string, account: string): Promise<string> {
  const { link } = json<{ link: string }>(installation, 'people', 'invite', email, '--account', account, '--role', 'reader')
  const answer = await fetch(`http://localhost:${installation.port}/cabinet/auth/invite`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(link).origin },
    body: JSON.stringify({ token: link.slice(link.lastIndexOf('/') + 1), password: 'a long password' }),
  })
  if (!answer.ok) throw new Error(`${email}: ${answer.status} ${await answer.text()}`)
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Asks for pages until `isOver`; gives how long each answer took. */
async function look(installation: Installation, account: string, cookie: string, isOver: () => boolean): Promise<readonly number[]> {
  const root = `http://localhost:${installation.port}/cabinet/api/accounts/${account}/spend`
  const today = dayOf(Date.now())
  const pages = [`${root}?from=${today}&to=${today}&by=model`, `${root}?from=${dayOf(Date.now() - 89 * DAY_MS)}&to=${today}&by=key`]
  const took: number[] = []
  while (!isOver())
    for (const page of pages) {
      const from = performance.now()
      const answer = await fetch(page, { headers: { cookie } })
      if (!answer.ok) throw new Error(`${page}: ${answer.status} ${await answer.text()}`)
      await answer.bytes()
      took.push((performance.now() - from) * 1_000)
      await Bun.sleep(READING_MS)
    }
  return took
}

const stage = await openOwnStage(values.binary)
await stage.during(async () => {
  const installation = stage.installation(TOLLGATE)
  fillLedger(installation.folder, Number(values.receipts), 1)
  const gateway = await startTollgate(TOLLGATE, installation)
  try {
    const { data: keys } = json<{ data: readonly { id: string; account_id: string }[] }>(installation, 'keys', 'list')
    const account = keys.find(({ id }) => id === 'key_0')?.account_id ?? ''
    const cookies: string[] = []
    for (let n = 0; n < Number(values.people); n++) cookies.push(await comeIn(installation, `person${n}@bench.example`, account))
    const paid = { alone: [] as { p50: number; p99: number }[], beside: [] as { p50: number; p99: number }[] }
    const pages: number[] = []
    for (const turn of turns(['alone', 'beside'] as const, ROUNDS)) {
      let isOver = false
      const looking = turn === 'beside' ? cookies.map((cookie) => look(installation, account, cookie, () => isOver)) : []
      const job = { plan: IN_ONE_PIECE, connections: CONNECTIONS, rampMs: 0, lags: false, bodyBytes: 0, bearers: [] }
      const { answer } = await ask(gateway, stage.generators[0], { ...job, warmMs: WARM_MS, windowMs: WINDOW_MS })
      isOver = true
      pages.push(...(await Promise.all(looking)).flat())
      paid[turn].push(answer)
      console.error(`${turn}: p50 ${inUnit(answer.p50, 'µs')}, p99 ${inUnit(answer.p99, 'µs')}`)
    }
    const middle = (of: 'p50' | 'p99', turn: 'alone' | 'beside'): number => median(paid[turn].map((one) => one[of]))
    const row = (of: 'p50' | 'p99'): readonly string[] => [
      `a paid request, ${of}`,
      inUnit(middle(of, 'alone'), 'µs'),
      inUnit(middle(of, 'beside'), 'µs'),
      `${(middle(of, 'beside') / middle(of, 'alone')).toFixed(2)} ×`,
    ]
    const sorted = pages.toSorted((a, b) => a - b)
    const page = [
      'their page, p50 · p99',
      '',
      `${inUnit(quantile(sorted, 0.5), 'µs')} · ${inUnit(quantile(sorted, 0.99), 'µs')}`,
      `${sorted.length} asked`,
    ]
    console.log(tableText(['', 'alone', `beside ${values.people} people`, ''], [row('p50'), row('p99'), page]))
  } finally {
    await gateway.stop()
  }
})
