/**
 * `bun run nodes`: Postgres and three gateways on this machine, one key with a dollar that clients spend through all three, and one gateway that is killed while it
 * answers. Tells what happens as it happens, then holds what the clients saw against the ledger: exit code 0, or 1 where something does not agree. Each figure is
 * read in this run. Rules: nodes.md "Take-over".
 */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { maxPicos, type Picos, ZERO } from '../../src/core/money.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { type GatewayProcess, Place } from './process.ts'
import { Spending } from './spending.ts'

const NAMES = ['a', 'b', 'c'] as const
const KILLED = 'b'
const CLIENTS_A_NODE = 8
const BALANCE_USD = '1.00'
/** A few seconds instead of ten, so that nobody waits long for the others to take over. */
const LEASE_MS = 4_000
/** Within it there are requests of every age in flight, those older than a second with their checkpoint in the ledger. */
const BEFORE_KILL_MS = 4_000
const TAKE_OVER_MS_MAX = 30_000

type Node = Readonly<{ name: string; place: Place; gateway: GatewayProcess }>
type Booked = Readonly<{ requestId: string; outcome: string; cost: Picos; waived: bigint; lane: bigint }>

const began = performance.now()
const say = (line: string): void => console.log(`${((performance.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${line}`)
const usd = (picos: bigint): string => (Number(picos) / 1e12).toFixed(6)
const agrees = (isTrue: boolean, what: string): void => {
  say(`${isTrue ? 'yes' : 'NO '}  ${what}`)
  if (!isTrue) process.exitCode = 1
}

const postgres = await startPostgres(join(tmpdir(), `tollgate-nodes-${process.pid}`))
const url = await postgres.createDatabase()
const sql = new SQL({ url, max: 1, bigint: true, connection: { search_path: 'ledger' } })
const places = NAMES.map(placeOf)
try {
  say(`Postgres listens on 127.0.0.1:${postgres.port}, with an empty database`)
  await tell()
} finally {
  await sql.close()
  await Promise.all(places.map((place) => place.remove()))
  await postgres.stop('immediate')
}

function placeOf(name: string): Place {
  const place = new Place(undefined, { LEDGER_URL: url })
  place.write('tollgate.toml', `operator = { port = 0 }\nledger = { url_env = "LEDGER_URL", node = "${name}", lease_ms = ${LEASE_MS} }\n`)
  return place
}

async function tell(): Promise<void> {
  const [first] = places
  if (first === undefined) return
  const { key } = await first.createKey('--name', 'demo', '--balance', BALANCE_USD)
  const nodes = await Promise.all(
    places.map(async (place, index): Promise<Node> => ({ name: NAMES[index] ?? '', place, gateway: await place.serve() })),
  )
  for (const { name, gateway } of nodes) say(`node ${name} listens on ${gateway.url}`)
  const spending = new Spending(
    nodes.map(({ gateway }) => gateway.url),
    key,
  )
  say(`one key with ${BALANCE_USD} USD; ${CLIENTS_A_NODE} clients of each node spend it, on the simulator, an answer a second and a half`)
  const clients = spending.run(CLIENTS_A_NODE)
  await Bun.sleep(BEFORE_KILL_MS)
  const lane = await laneOf(KILLED)
  await kill(nodes, spending)
  const [leased] =
    (await sql`SELECT CAST(coalesce(sum(amount_picos), 0) AS BIGINT) AS picos FROM leases WHERE lane = ${lane}`) as readonly {
      picos: bigint
    }[]
  say(
    `its clients go on to the other nodes; ${usd(leased?.picos ?? 0n)} USD are leased to ${KILLED} until its ${LEASE_MS / 1_000} s are over`,
  )
  const takenOver = untilTakenOver(lane).then((ms) => sayTakenOver(lane, ms))
  await Promise.all([clients, takenOver])
  say('the balance is used up: both nodes that live refuse the key')
  await judge(spending)
  const { code, out } = await first.run('verify')
  agrees(code === 0, `tollgate verify: ${out.trim().split('\n').at(-1)}`)
}

async function kill(nodes: readonly Node[], spending: Spending): Promise<void> {
  const node = nodes.find(({ name }) => name === KILLED)
  if (node === undefined) return
  const inFlight = spending.dies(node.gateway.url)
  node.gateway.signal('SIGKILL')
  say(`node ${KILLED} is killed (kill -9) with ${inFlight} answers in flight; ${spending.whole.size} were seen whole so far`)
  await node.gateway.exited
}

async function laneOf(name: string): Promise<bigint> {
  const [row] = (await sql`SELECT lane FROM nodes WHERE name = ${name} AND lease_until > 0`) as readonly { lane: bigint }[]
  if (row === undefined) throw new Error(`node ${name} has no lane`)
  return row.lane
}

/** Milliseconds until the lane is free and no checkpoint of the dead node is left. */
async function untilTakenOver(lane: bigint): Promise<number> {
  const from = performance.now()
  for (;;) {
    const [left] = (await sql`SELECT
      (SELECT count(*) FROM nodes WHERE lane = ${lane} AND lease_until > 0) AS lanes,
      (SELECT count(*) FROM marks WHERE boot_number IN (SELECT boot_number FROM nodes WHERE lane = ${lane})) AS marks`) as readonly {
      lanes: bigint
      marks: bigint
    }[]
    const ms = performance.now() - from
    if (left?.lanes === 0n && left.marks === 0n) return ms
    if (ms > TAKE_OVER_MS_MAX) throw new Error(`nobody took over within ${TAKE_OVER_MS_MAX} ms`)
    await Bun.sleep(50)
  }
}

async function sayTakenOver(lane: bigint, ms: number): Promise<void> {
  const waived = (await booked()).filter(({ outcome }) => outcome === 'recovered')
  const [by] = waived
  const rows = (await sql`SELECT name FROM nodes WHERE lane = ${by?.lane ?? lane}`) as readonly { name: string }[]
  const who = by === undefined ? 'the others' : `node ${rows[0]?.name}`
  const worth = waived.reduce((sum, one) => sum + one.waived, 0n)
  say(
    `${who} took over ${(ms / 1_000).toFixed(1)} s after that: its money is free again, ${waived.length} requests are waived, worth ${usd(worth)} USD`,
  )
}

async function booked(): Promise<readonly Booked[]> {
  return (await sql`SELECT request_id AS "requestId", outcome, cost_picos AS cost, waived_picos AS waived, lane FROM receipts`) as readonly Booked[]
}

async function judge({ whole, cut }: Spending): Promise<void> {
  const receipts = await booked()
  const [account] = (await sql`SELECT balance_picos AS balance, spent_picos AS spent FROM accounts`) as readonly {
    balance: bigint
    spent: bigint
  }[]
  const { balance = 0n, spent = 0n } = account ?? {}
  const sum = receipts.reduce((total, { cost }) => total + cost, 0n)
  const dearest = receipts.reduce((most, { cost }) => maxPicos(most, cost), ZERO)
  const complete = receipts.filter(({ outcome }) => outcome === 'complete')
  const ids = new Set(receipts.map(({ requestId }) => requestId))
  const waived = receipts.filter(({ outcome }) => outcome === 'recovered')
  const unseen = complete.filter(({ requestId }) => !whole.has(requestId))
  say(`balance ${usd(balance)} USD, spent ${usd(spent)} USD in ${receipts.length} receipts`)
  agrees(sum === spent, `receipts add up to what was spent: ${usd(sum)} USD`)
  agrees(balance <= 0n && -balance < dearest, `overdrawn by less than one request over all nodes (the dearest cost ${usd(dearest)} USD)`)
  agrees(
    [...whole].every((id) => ids.has(id)),
    `answers seen whole: ${whole.size}, with a receipt: ${[...whole].filter((id) => ids.has(id)).length}`,
  )
  agrees(ids.size === receipts.length, `twice: ${receipts.length - ids.size}`)
  agrees(
    waived.every(({ cost }) => cost === 0n) && waived.length <= cut,
    `of the ${cut} that were cut ${waived.length} are waived and cost nothing`,
  )
  agrees(unseen.length + waived.length <= cut, `charged, and the end lost on the way from the dead node: ${unseen.length}`)
}
