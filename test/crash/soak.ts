/**
 * `bun run soak [--minutes N] [--seed S]`: a gateway before three upstreams in changing trouble, under clients of all formats of whom a fifth leaves early. It
 * finds what only time shows: memory or descriptors that grow, holds that stay, sums that do not add up. Exits with 1 where it finds something.
 */

import { parseArgs } from 'node:util'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { openDatabase } from '../../db/open.ts'
import { accounts } from '../../db/schema/accounts.ts'
import { receipts } from '../../db/schema/requests.ts'
import { randomFrom } from '../support/seed.ts'
import { askAndJudge, formatAt } from './judged-answer.ts'
import { type GatewayProcess, Place } from './process.ts'
import { configurationBefore, NAMES, SimulatorProcess } from './simulators.ts'

const WIDTH = 60
const LEAVERS = 0.2
const SAMPLE_MS = 1_000
const LIMITS = 'stall_timeout_ms = 1500\nidle_ms = 2000'
/** Of the mean, over the second half of the run: what is still warming up is not growth. */
const GROWTH_MAX = 0.1
/** A shorter run is all warming up: its growth is shown and not judged. */
const JUDGED_MINUTES = 2
const TROUBLES = [
  '[sim error=429 retry_after=1]',
  '[sim error=529]',
  '[sim slow ms=300]',
  '[sim html]',
  '[sim stall ms=2500 after=2]',
  '[sim error=529 after=1]',
  '[sim cut after=2]',
  '[sim reset after=1]',
]

/** Threads that start when they are first needed have files of their own: after this time under load all of them run. */
const WARM_MINUTES = 0.25
/** A gateway at rest has had no fewer descriptors for so many samples. */
const REST_SAMPLES = 10
/** Between two rests: a connection of this run that the gateway has not closed yet. */
const DESCRIPTORS_MORE_MAX = 4

type Sample = Readonly<{ atMs: number; residentBytes: number; heapBytes: number; descriptors: number }>

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } } })
const minutes = Number(values.minutes)
const random = randomFrom(Number(values.seed))
const place = new Place()
const simulators = NAMES.map((name) => new SimulatorProcess(name, place.folder))
const ends = new Map<string, number>()
const findings: string[] = []

try {
  await Promise.all(simulators.map((simulator) => simulator.start()))
  place.write('tollgate.toml', configurationBefore(simulators, LIMITS, 'connect_timeout_ms = 500\nmax_concurrent = 100'))
  const gateway = await place.serve()
  const { key } = await place.createKey('--balance', '100000')
  await run(gateway, key, WARM_MINUTES)
  const before = await atRest(gateway)
  await Promise.all(simulators.map((simulator) => simulator.start()))
  ends.clear()
  const samples = await run(gateway, key, minutes)
  const after = await atRest(gateway)
  await judge(samples, before, after)
  gateway.signal('SIGTERM')
  const { code } = await gateway.exited
  if (code !== 0) findings.push(`the gateway ended with ${code}`)
  report(samples, before, after)
} finally {
  await Promise.all(simulators.map((simulator) => simulator.kill()))
  await place.remove()
}
process.exit(findings.length === 0 ? 0 : 1)

async function run(gateway: GatewayProcess, key: string, forMinutes: number): Promise<readonly Sample[]> {
  let isOver = false
  const client = async (): Promise<void> => {
    while (!isOver) await ask(gateway, key)
  }
  const trouble = async (simulator: SimulatorProcess): Promise<void> => {
    while (!isOver) {
      await Bun.sleep(1_000 + random() * 2_000)
      await simulator.suffer(TROUBLES[Math.floor(random() * TROUBLES.length)] ?? '')
      await Bun.sleep(random() * 1_000)
      await simulator.suffer('')
    }
  }
  const working = Promise.all([...Array.from({ length: WIDTH }, client), ...simulators.map(trouble)])
  const samples: Sample[] = []
  const untilMs = performance.now() + forMinutes * 60_000
  while (performance.now() < untilMs) {
    await Bun.sleep(SAMPLE_MS)
    samples.push(await sampleOf(gateway))
  }
  isOver = true
  await working
  return samples
}

async function ask({ url }: GatewayProcess, secret: string): Promise<void> {
  const leave = random() < LEAVERS ? AbortSignal.timeout(random() * 300) : undefined
  const format = formatAt(random())
  const more = format === 'messages' && random() < 0.5 ? { cache_control: { type: 'ephemeral' } } : {}
  const prompt = `${random()} [sim tokens=20 speed=80]`
  const asked = { url, secret, format, stream: random() < 0.8, prompt, more }
  const { end, status } = await askAndJudge(leave === undefined ? asked : { ...asked, leave })
  const what = end === 'refused' ? `refused with ${status}` : end
  ends.set(what, (ends.get(what) ?? 0) + 1)
  if (end === 'refused') await Bun.sleep(random() * 500)
}

async function sampleOf({ operatorUrl }: GatewayProcess): Promise<Sample> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text()
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return {
    atMs: performance.now(),
    residentBytes: read('process_resident_memory_bytes'),
    heapBytes: read('process_heap_bytes'),
    descriptors: read('process_open_fds'),
  }
}

/** Once idle connections are closed on both sides. The simulators are ended for it. */
async function atRest(gateway: GatewayProcess): Promise<Sample> {
  await Promise.all(simulators.map((simulator) => simulator.kill()))
  let fewest = await sampleOf(gateway)
  for (let samples = 0; samples < REST_SAMPLES; samples++) {
    await Bun.sleep(SAMPLE_MS)
    const sample = await sampleOf(gateway)
    if (sample.descriptors < fewest.descriptors) samples = 0
    if (sample.descriptors <= fewest.descriptors) fewest = sample
  }
  return fewest
}

async function judge(samples: readonly Sample[], before: Sample, after: Sample): Promise<void> {
  const growth = growthOf(samples)
  if (minutes >= JUDGED_MINUTES && growth > GROWTH_MAX) findings.push(`memory grew by ${percent(growth)} over the second half`)
  const kept = after.descriptors - before.descriptors
  if (kept > DESCRIPTORS_MORE_MAX) findings.push(`${kept} descriptors were not given back`)
  const holds = await place.json<{ data: unknown[] }>('holds', 'list')
  if (holds.data.length > 0) findings.push(`${holds.data.length} holds are left`)
  const { code, out, err } = await place.run('verify')
  if (code !== 0) findings.push(`verify: ${out}${err}`)
  const { costPicos, spentPicos } = sums()
  if (costPicos !== spentPicos) findings.push(`receipts cost ${costPicos}, accounts spent ${spentPicos} picodollars`)
}

/** The slope of the memory over the second half by least squares, times that half, of the mean. */
function growthOf(samples: readonly Sample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length)
  const meanMs = mean(half.map(({ atMs }) => atMs))
  const meanBytes = mean(half.map(({ residentBytes }) => residentBytes))
  const both = half.reduce((sum, { atMs, residentBytes }) => sum + (atMs - meanMs) * (residentBytes - meanBytes), 0)
  const own = half.reduce((sum, { atMs }) => sum + (atMs - meanMs) ** 2, 0)
  const lengthMs = (half.at(-1)?.atMs ?? 0) - (half[0]?.atMs ?? 0)
  return own === 0 ? 0 : ((both / own) * lengthMs) / meanBytes
}

function sums(): Readonly<{ receipts: number; costPicos: bigint; spentPicos: bigint }> {
  const db = openDatabase(place.ledgerPath, 'read')
  if ('problem' in db) throw new Error(db.message)
  const rows = drizzle(db).select({ costPicos: receipts.costPicos }).from(receipts).all()
  const all = drizzle(db).select({ spentPicos: accounts.spentPicos }).from(accounts).all()
  db.close()
  return {
    receipts: rows.length,
    costPicos: rows.reduce((sum, { costPicos }) => sum + costPicos, 0n),
    spentPicos: all.reduce((sum, { spentPicos }) => sum + spentPicos, 0n),
  }
}

function report(samples: readonly Sample[], before: Sample, after: Sample): void {
  const row = (what: string, value: string | number): void => console.log(`${what.padEnd(34)}${value}`)
  const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`
  for (const [end, count] of [...ends].toSorted()) row(end, count)
  row('receipts', sums().receipts)
  row('memory: start, highest, at rest', [before, peak(samples), after].map(({ residentBytes }) => mib(residentBytes)).join(', '))
  row('heap: start, at rest', `${mib(before.heapBytes)}, ${mib(after.heapBytes)}`)
  row('growth over the second half', percent(growthOf(samples)))
  row(
    'descriptors: start, highest, end',
    [before.descriptors, Math.max(...samples.map(({ descriptors }) => descriptors)), after.descriptors].join(', '),
  )
  for (const finding of findings) row('FOUND', finding)
  console.log(`${minutes} minutes, seed ${values.seed}: ${findings.length === 0 ? 'nothing found' : `${findings.length} found`}`)
}

function peak(samples: readonly Sample[]): Sample {
  return samples.reduce((highest, sample) => (sample.residentBytes > highest.residentBytes ? sample : highest))
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
