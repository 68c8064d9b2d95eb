/**
 * Tollgate as it is shipped: the compiled binary with a ledger on disk, and what its books must say. Every answer of a load costs the same, so that after each
 * run receipts × price = spend, to the last digit, and `verify` runs now and then.
 */

import { Database } from 'bun:sqlite'
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { withChildren } from './cpu.ts'
import type { Gateway } from './gateways.ts'
import { freePort, start, untilAnswers } from './processes.ts'
import { MODEL, TOKENS } from './wire.ts'

const ROOT = join(import.meta.dir, '../..')
/** The path of a ledger unless the configuration names another. */
const LEDGER = 'data/tollgate.db'
const OTHERS =
  'SELECT outcome, basis, status, cost_picos, count(*) AS receipts FROM receipts WHERE cost_picos <> ? GROUP BY outcome, basis, status, cost_picos LIMIT 20'
/** USD a million tokens, which are also microdollars a token. */
const PRICE = { input: 3, output: 15 }
const ANSWER_MICROS = TOKENS.input * PRICE.input + TOKENS.output * PRICE.output

const configuration = (port: number, upstreamPort: number, shared: Shared | undefined): string => `
[server]
port = ${port}
[operator]
port = 0
[limits]
requests_per_minute = 1000000000
concurrent_requests = 1000000
body_bytes_per_minute = 1000000000000
[[upstreams]]
name = "bench"
base_url = "http://127.0.0.1:${upstreamPort}"
[[models]]
id = "${MODEL}"
input = "${PRICE.input}"
output = "${PRICE.output}"
context_window = 200000
max_output_tokens = 1000
upstreams = ["bench"]
${shared === undefined ? '' : '[ledger]\nurl_env = "LEDGER_URL"\n'}`

/** Builds the binary, which takes about a second; gives its path. */
export function build(folder: string): string {
  const file = join(folder, 'tollgate')
  const built = Bun.spawnSync([process.execPath, 'run', 'build', '--outfile', file], { cwd: ROOT })
  if (built.exitCode !== 0) throw new Error(built.stderr.toString())
  return file
}

/** Runs one command of Tollgate; gives the JSON that it prints. */
function run({ binary, folder, shared }: Omit<Installation, 'key'>, ...args: readonly string[]): unknown {
  const { stdout, stderr, exitCode } = Bun.spawnSync([binary, ...args, '--json'], {
    cwd: folder,
    env: { ...process.env, ...envOf(shared) },
  })
  if (exitCode !== 0) throw new Error(`tollgate ${args.join(' ')} exits with ${exitCode}: ${stdout}${stderr}`)
  return JSON.parse(stdout.toString())
}

/** A ledger on Postgres, and how many processes share it. */
type Shared = Readonly<{ url: string; processes: number }>

export type Installation = Readonly<{ binary: string; folder: string; port: number; key: string; shared: Shared | undefined }>

const envOf = (shared: Shared | undefined): Record<string, string> => (shared === undefined ? {} : { LEDGER_URL: shared.url })

/** A configuration, a ledger and a key with more money than any load can use. `shared`: absent for a ledger in a file. */
export function install(binary: string, folder: string, upstreamPort: number, shared?: Shared): Installation {
  mkdirSync(folder, { recursive: true })
  const port = freePort()
  writeFileSync(join(folder, 'tollgate.toml'), configuration(port, upstreamPort, shared))
  const { key } = run({ binary, folder, port, shared }, 'keys', 'create', '--name', 'bench', '--balance', '1000000') as { key: string }
  return { binary, folder, port, key, shared }
}

export const verify = (installation: Installation): void => void run(installation, 'verify')

export async function startTollgate(name: string, installation: Installation): Promise<Gateway> {
  const { binary, folder, port, shared } = installation
  const several = shared === undefined ? [] : ['--processes', String(shared.processes)]
  const { pid, stop } = start([binary, 'serve', ...several], { cwd: folder, log: join(folder, 'tollgate.out'), env: envOf(shared) })
  await untilAnswers(`http://127.0.0.1:${port}/readyz`)
  return gatewayAt(name, installation, { pids: () => withChildren(pid), stop })
}

/** An installation that runs, as a load sees it. */
export function gatewayAt(name: string, installation: Installation, { pids, stop }: Pick<Gateway, 'pids' | 'stop'>): Gateway {
  const { binary, folder, port, key } = installation
  let booked = booksOf(installation)
  const audit = (answers: number): Promise<void> => {
    const now = booksOf(installation)
    const [requests, micros] = [now.requests - booked.requests, now.micros - booked.micros]
    if (requests !== answers || micros !== answers * ANSWER_MICROS)
      throw new Error(
        `${name}: ${answers} answers at ${ANSWER_MICROS} microdollars, and ${requests} receipts of ${micros} in the ledger; of another cost: ${othersIn(folder)}`,
      )
    booked = now
    return Promise.resolve()
  }
  const target = { host: '127.0.0.1', port, path: '/v1/chat/completions', headers: { authorization: `Bearer ${key}` } }
  // The folder is left out, since results are kept in the repository.
  const what = `the compiled binary, ${basename(binary)}`
  return { name, what, target, pids, translates: true, isSlow: false, audit, stop }
}

/** The receipts with another cost than the answer's, by how they ended. */
function othersIn(folder: string): string {
  const db = new Database(join(folder, LEDGER), { readonly: true })
  const rows = db.query(OTHERS).all(ANSWER_MICROS * 1_000_000)
  db.close()
  return JSON.stringify(rows)
}

/** The requests in the ledger and what they cost, in whole microdollars. */
function booksOf(installation: Installation): { requests: number; micros: number } {
  const { data } = run(installation, 'usage') as { data: readonly { requests: number; cost_usd: number }[] }
  return {
    requests: data.reduce((sum, row) => sum + row.requests, 0),
    micros: data.reduce((sum, row) => sum + Math.round(row.cost_usd * 1e6), 0),
  }
}
