/**
 * What one tenant does to another: the latency of a polite neighbour, who asks ten times a second, beside each of the loads of `neighbours/bodies.ts`, against the
 * same neighbour alone; and how much memory the gateway takes during each load. `--binary FILE`: a gateway that is already built. `--seconds N`: how long each load
 * lasts (15). Names after the options: only these loads. Run: `bun run bench neighbours`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from './clock.ts'
import { residentBytes, withChildren } from './load/cpu.ts'
import { start, untilAnswers } from './load/processes.ts'
import { build, type Installation, install } from './load/tollgate.ts'
import { MODEL } from './load/wire.ts'
import { ATTACKS } from './neighbours/bodies.ts'

const args = process.argv.slice(2)
const optionOf = (name: string): string | undefined => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : undefined)
const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
const binary = optionOf('--binary') ?? build(folder)
const seconds = Number(optionOf('--seconds') ?? 15)
const EVERY_MS = 100

type Seen = Readonly<{ p50: number; p99: number; worst: number; refused: number; residentMb: number }>

const quantile = (sorted: readonly number[], of: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Number.NaN

/** Sends ten requests a second, whether or not earlier ones have ended. */
async function watch(port: number, key: string, pid: number): Promise<Seen> {
  const tookMs: number[] = []
  let refused = 0
  let residentMb = 0
  const asked: Promise<void>[] = []
  const ask = async (): Promise<void> => {
    const from = performance.now()
    const body = JSON.stringify({ model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
    const response = await fetch(`http://127.0.0.1:${port}/v1/messages`, { method: 'POST', headers: { 'x-api-key': key }, body })
    await response.arrayBuffer()
    tookMs.push(performance.now() - from)
    if (response.status !== 200) refused++
  }
  for (let n = 0; n < (seconds * 1_000) / EVERY_MS; n++) {
    asked.push(ask())
    residentMb = Math.max(residentMb, residentBytes(withChildren(pid)) / 1e6)
    await sleep(EVERY_MS)
  }
  await Promise.all(asked)
  const sorted = tookMs.sort((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), worst: sorted.at(-1) ?? Number.NaN, refused, residentMb }
}

async function beside(
  name: string | undefined,
  { folder: home, port, key }: Installation,
  keys: Readonly<{ rich: string; empty: string }>,
): Promise<Seen> {
  const gateway = start([binary, 'serve'], { cwd: home, log: join(home, 'tollgate.out') })
  await untilAnswers(`http://127.0.0.1:${port}/readyz`)
  const warm = Array.from({ length: 200 }, () =>
    fetch(`http://127.0.0.1:${port}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: JSON.stringify({ model: MODEL, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }),
    }).then((response) => response.arrayBuffer()),
  )
  await Promise.all(warm)
  const as = name !== undefined && ATTACKS[name]?.().isEmpty === true ? keys.empty : keys.rich
  const log = join(home, 'attacker.out')
  const attacker =
    name === undefined
      ? undefined
      : start([process.execPath, join(import.meta.dir, 'neighbours/attacker.ts'), String(port), as, name], { cwd: home, log })
  await sleep(1_000)
  try {
    return await watch(port, key, gateway.pid)
  } finally {
    await attacker?.stop()
    await gateway.stop()
  }
}

const upstream = Bun.spawn([process.execPath, join(import.meta.dir, 'neighbours/upstream.ts')], { stdout: 'pipe' })
try {
  const { value } = await upstream.stdout.getReader().read()
  const installation = install(
    binary,
    folder,
    Number(
      Buffer.from(value ?? '')
        .toString()
        .trim(),
    ),
  )
  const create = (...balance: readonly string[]): string => {
    const made = Bun.spawnSync([binary, 'keys', 'create', '--name', `other ${balance.length}`, ...balance, '--json'], { cwd: folder })
    return (JSON.parse(made.stdout.toString()) as { key: string }).key
  }
  const keys = { rich: create('--balance', '1000000'), empty: create() }
  const names = args.length > 0 ? args : Object.keys(ATTACKS)
  console.log(`${'a polite neighbour beside'.padEnd(40)}   p50 ms   p99 ms  worst ms  refused   MB resident`)
  for (const name of [undefined, ...names]) {
    const { p50, p99, worst, refused, residentMb } = await beside(name, installation, keys)
    const figures = [p50.toFixed(1), p99.toFixed(1), worst.toFixed(0), String(refused), residentMb.toFixed(0)]
    console.log((name ?? 'nobody').padEnd(40) + figures.map((figure) => figure.padStart(10)).join(''))
  }
} finally {
  upstream.kill()
  rmSync(folder, { recursive: true, force: true })
}
