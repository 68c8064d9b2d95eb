/**
 * What one tenant does to another: the latency of polite neighbours beside each of the loads of `neighbours/bodies.ts`, against the same neighbours alone, and against
 * them while the same load is on another gateway of this machine (the control: the machine makes neighbours wait so long, and what is more is the gateway's doing); and how
 * much memory the gateway takes during each load. `--binary FILE`: a gateway that is already built. `--seconds N`: how long each load lasts (15), on each of the two.
 * Names after the options: only these loads. Run: `bun run bench neighbours`.
 */

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { sleep } from './clock.ts'
import { start, untilAnswers } from './load/processes.ts'
import { build, type Installation, install } from './load/tollgate.ts'
import { ATTACK_MODEL, ATTACKS } from './neighbours/bodies.ts'
import { type Seen, warm, watch } from './neighbours/neighbour.ts'

const args = process.argv.slice(2)
const optionOf = (name: string): string | undefined => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : undefined)
const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
const binary = optionOf('--binary') ?? build(folder)
const seconds = Number(optionOf('--seconds') ?? 15)
/** The neighbours' gateway, and another one; each load has its turns on them there and back. */
const TURNS = ['here', 'there', 'there', 'here'] as const
type Place = (typeof TURNS)[number]
type Gateway = Readonly<{ installation: Installation; keys: Readonly<{ rich: string; empty: string }> }>

const attackModel = (upstreamPort: number): string => `
[[upstreams]]
name = "attacked"
base_url = "http://127.0.0.1:${upstreamPort}"
[[models]]
id = "${ATTACK_MODEL}"
input = "3"
output = "15"
context_window = 200000
max_output_tokens = 1000
upstreams = ["attacked"]
`

function installed(place: Place, upstreamPort: number, attackedPort: number): Gateway {
  const home = join(folder, place)
  const installation = install(binary, home, upstreamPort)
  appendFileSync(join(home, 'tollgate.toml'), attackModel(attackedPort))
  const create = (...balance: readonly string[]): string => {
    const made = Bun.spawnSync([binary, 'keys', 'create', '--name', `other ${balance.length}`, ...balance, '--json'], { cwd: home })
    return (JSON.parse(made.stdout.toString()) as { key: string }).key
  }
  return { installation, keys: { rich: create('--balance', '1000000'), empty: create() } }
}

async function run({ installation }: Gateway): Promise<ReturnType<typeof start>> {
  const { folder: home, port } = installation
  const gateway = start([binary, 'serve'], { cwd: home, log: join(home, 'tollgate.out') })
  await untilAnswers(`http://127.0.0.1:${port}/readyz`)
  await warm(installation)
  return gateway
}

type Load = Readonly<{ name: string; on: Gateway }>

/** One turn of the neighbours of `here`, beside a load or alone. */
async function turn(here: Gateway, forSeconds: number, load?: Load): Promise<Seen> {
  const gateway = await run(here)
  const look = (): Promise<Seen> => watch(here.installation, gateway.pid, forSeconds)
  try {
    if (load === undefined) return await look()
    if (load.on === here) return await beside(load, look)
    const other = await run(load.on)
    try {
      return await beside(load, look)
    } finally {
      await other.stop()
    }
  } finally {
    await gateway.stop()
  }
}

async function beside({ name, on }: Load, look: () => Promise<Seen>): Promise<Seen> {
  const key = ATTACKS[name]?.().isEmpty === true ? on.keys.empty : on.keys.rich
  const command = [process.execPath, join(import.meta.dir, 'neighbours/attacker.ts'), String(on.installation.port), key, name]
  const attacker = start(command, { cwd: folder, log: join(folder, 'attacker.out') })
  try {
    await sleep(1_000)
    return await look()
  } finally {
    await attacker.stop()
  }
}

const together = (seen: readonly Seen[]): Seen => ({
  tookMs: seen.flatMap(({ tookMs }) => tookMs).sort((a, b) => a - b),
  refused: seen.reduce((sum, { refused }) => sum + refused, 0),
  residentMb: Math.max(...seen.map(({ residentMb }) => residentMb)),
})

const quantile = ({ tookMs }: Seen, of: number): number => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * of))] ?? Number.NaN
const p99 = (seen: Seen): number => quantile(seen, 0.99)
const columns = (...cells: readonly string[]): string => cells.map((cell) => cell.padStart(11)).join('')
const row = (seen: Seen): string[] => [quantile(seen, 0.5).toFixed(1), p99(seen).toFixed(1), quantile(seen, 1).toFixed(0)]
const rest = ({ refused, residentMb }: Seen): string[] => [String(refused), residentMb.toFixed(0)]

const upstreams: Subprocess[] = []

/** Gives its port. */
async function startUpstream(): Promise<number> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'neighbours/upstream.ts')], { stdout: 'pipe' })
  upstreams.push(child)
  const { value } = await child.stdout.getReader().read()
  return Number(Buffer.from(value ?? '').toString())
}

try {
  const [upstream, attackedUpstream] = [await startUpstream(), await startUpstream()]
  const here = installed('here', upstream, attackedUpstream)
  const there = installed('there', upstream, attackedUpstream)
  const head = ['p50 ms', 'p99 ms', 'worst', 'there: p50', 'p99 ms', 'worst', '× alone', '× there', 'refused', 'MB resident']
  console.log('polite neighbours beside'.padEnd(40) + columns(...head))
  const alone = together([await turn(here, seconds)])
  console.log('nobody'.padEnd(40) + columns(...row(alone), '', '', '', '', '', ...rest(alone)))
  for (const name of args.length > 0 ? args : Object.keys(ATTACKS)) {
    const seen: Record<Place, Seen[]> = { here: [], there: [] }
    for (const place of TURNS) seen[place].push(await turn(here, seconds / 2, { name, on: place === 'here' ? here : there }))
    const [mine, control] = [together(seen.here), together(seen.there)]
    const ratios = [(p99(mine) / p99(alone)).toFixed(1), (p99(mine) / p99(control)).toFixed(1)]
    console.log(name.padEnd(40) + columns(...row(mine), ...row(control), ...ratios, ...rest(mine)))
  }
} finally {
  for (const child of upstreams) child.kill()
  rmSync(folder, { recursive: true, force: true })
}
