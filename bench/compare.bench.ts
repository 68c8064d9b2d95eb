/**
 * `bun run bench [--quick] [--binary FILE] [--peer NAME=URL] [--upstream-port N] [--receipts N] [steps…]`: the whole table, Tollgate beside its peers, in less than
 * eight minutes on two cores; written to `bench/results` as JSON and as the pictures of the README. `--quick` has shorter turns; then, and when only some steps
 * are named (`flush`, `debits`, `starts`, `loads`, `beside`, `memory`, `relays`), nothing is written without `--write`.
 */

import { parseArgs } from 'node:util'
import { measureDebits } from './debit-cost.ts'
import { fillLedger } from './fill.ts'
import { flushesUs } from './flush.ts'
import { judge, judgedText } from './judge.ts'
import { measureBeside } from './load/beside.ts'
import { LOADS } from './load/loads.ts'
import { measureMemory, streamsFor } from './load/memory.ts'
import { openFilesMax } from './load/processes.ts'
import { FULL, LoadRunner, QUICK } from './load/run-loads.ts'
import { openStage } from './load/stage.ts'
import { startToFirstAnswerMs } from './load/start-time.ts'
import { picture } from './picture.ts'
import { NONE, Readings, TOLLGATE } from './readings.ts'
import { measureRelays, RELAYS_FULL, RELAYS_QUICK, relaysText } from './relays/measure-relays.ts'
import { relaysPicture } from './relays/picture.ts'
import { joinPart, loadNow, machineText, type PartRun, writePicture, writeResults } from './results.ts'
import { rowsWith } from './rows.ts'
import { median } from './statistics.ts'

const FLUSHES = 300
const STARTS = 5
const BESIDE_ROUNDS = 2
const DEBIT_ROUNDS = 12

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    binary: { type: 'string' },
    peer: { type: 'string', multiple: true, default: [] },
    'upstream-port': { type: 'string', default: '0' },
    receipts: { type: 'string', default: '1000000' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const receipts = Number(values.receipts)
const say = (line: string): void => console.error(line)
const loadBefore = loadNow()
const began = performance.now()
const readings = new Readings()
const stage = await openStage({
  binary: values.binary,
  against: undefined,
  withPeers: true,
  peers: values.peer,
  upstreamPort: Number(values['upstream-port']),
  withNone: true,
})
const names = stage.gateways.map(({ name }) => name)
const notes: string[] = []
let relays: PartRun | undefined

async function measureStarts(): Promise<void> {
  const [empty, full] = [stage.installation(TOLLGATE), stage.installation(TOLLGATE)]
  for (let n = 0; n < STARTS; n++) readings.add('start.empty', TOLLGATE, await startToFirstAnswerMs(empty))
  fillLedger(full.folder, receipts, 1_000)
  for (let n = 0; n < STARTS; n++) readings.add('start.full', TOLLGATE, await startToFirstAnswerMs(full))
}

const fastOnes = stage.gateways.filter(({ isSlow, name }) => !isSlow && name !== NONE)
const steps: Readonly<Record<string, () => Promise<unknown> | unknown>> = {
  flush: () => readings.add('flush', NONE, median(flushesUs(stage.folder, FLUSHES))),
  debits: () => measureDebits(stage.folder, DEBIT_ROUNDS, readings),
  starts: measureStarts,
  loads: async () => {
    const runner = new LoadRunner(stage.generators[0], values.quick ? QUICK : FULL, readings, say)
    for (const load of LOADS) await runner.run(load, stage.gateways)
  },
  beside: () => measureBeside(fastOnes, stage.generators, BESIDE_ROUNDS, readings),
  memory: () =>
    measureMemory(
      stage,
      fastOnes.map(({ name }) => name).filter((name) => name !== 'N'),
      openFilesMax(),
      readings,
    ),
  relays: async () => {
    relays = await measureRelays(stage, values.quick ? RELAYS_QUICK : RELAYS_FULL, say)
  },
  verify: () => stage.verify(),
}
await stage.during(async () => {
  for (const [name, step] of Object.entries(steps)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    const from = performance.now()
    await step()
    say(`${name} took ${Math.round((performance.now() - from) / 1000)} s`)
  }
})

if (streamsFor(openFilesMax()) < 5_000)
  notes.push(`memory: ${streamsFor(openFilesMax())} streams, because a process may open ${openFilesMax()} files`)
if (names.includes('P')) notes.push('P has 100 streams where others have 1,000, and none of the longer loads')
notes.push(...stage.notes)
const rows = judge(rowsWith(receipts), readings, names)
const date = new Date().toISOString().slice(0, 10)
const contestants = Object.fromEntries(stage.gateways.map(({ name, what }) => [name, what]))
const machine = `${machineText()}, ${date}`
async function writeAll(): Promise<readonly string[]> {
  const caption = `${machine}, load ${loadBefore.toFixed(1)} before it began. The line is the goal.`
  const shown = names.filter((name) => name !== NONE)
  return [
    await writeResults({ date, contestants, notes, rows, readings, loadBefore }),
    await writePicture('speed.svg', picture(readings, shown, caption)),
    ...(relays === undefined
      ? []
      : [await joinPart(date, 'relays', relays), await writePicture('relays.svg', relaysPicture(relays.readings, machine))]),
  ]
}
const written = (values.quick || positionals.length > 0) && !values.write ? [] : await writeAll()

console.log(judgedText(rows, names))
if (relays !== undefined) console.log(`\n${relaysText(relays)}`)
console.log(
  `\n${Object.entries(contestants)
    .map(([name, what]) => `${name}: ${what}`)
    .join(' · ')}`,
)
console.log(`${machineText()}; load before the run ${loadBefore.toFixed(2)}; ${Math.round((performance.now() - began) / 1000)} s`)
for (const line of [...notes, ...written]) console.log(line)
