/**
 * The upstream's bill against ours, call by call: what was charged, what was waived, what stands in the attempts, and what nobody was told. Nothing else is left, whatever
 * happens to answers, clients, disk and process. Rules: ledger.md "Attempts"; money.md "Charges".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { openDatabase } from '../../db/open.ts'
import { attemptsIn, receiptsIn } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { MODEL_ID } from './load.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'
import { type Call, type Fate, promptOf, type ScriptedUpstreams, scriptedUpstreams } from './scripted-upstream.ts'

setDefaultTimeout(4 * PROCESS_TIMEOUT_MS)

let place: Place
let upstreams: ScriptedUpstreams
let gateway: GatewayProcess
let key: string
/** Of the cases, the ids under which we know them. */
let requestIds: Map<number, string>

beforeEach(async () => {
  place = new Place()
  upstreams = await scriptedUpstreams('main', 'other')
  requestIds = new Map()
  const [main = '', other = ''] = upstreams.urls
  place.write('tollgate.toml', configurationOf({ upstreamUrl: main, drainMs: 300, more: withOther(other) }))
  gateway = await place.serve({ env: UPSTREAM_ENV })
  ;({ key } = await place.createKey())
})
afterEach(async () => {
  upstreams.stop()
  await place.remove()
})

const BOTH = 'both'
const withOther = (url: string): string => `
[[upstreams]]
name = "other"
base_url = "${url}"
api_key_env = "UPSTREAM_API_KEY"
priority = 1

[[models]]
id = "${BOTH}"
upstream_model = "vendor-model"
upstreams = ["main", "other"]
input = "3.00"
output = "15.00"
context_window = 200000
max_output_tokens = 64000
`

type How = 'whole' | 'stream'
const FORMATS = [
  { path: '/v1/messages', body: (content: string) => ({ max_tokens: 100, messages: [{ role: 'user', content }] }) },
  { path: '/v1/chat/completions', body: (content: string) => ({ messages: [{ role: 'user', content }] }) },
  { path: '/v1/responses', body: (content: string) => ({ input: content }) },
]

let cases = 0

/** Asks in one of the formats. `leave`: after so many deltas; 0: as soon as the upstream has the call. Never rejects. */
async function ask(how: How, fates: readonly Fate[], { model = MODEL_ID, leave }: { model?: string; leave?: number } = {}): Promise<void> {
  const caseNumber = cases++
  const format = FORMATS[caseNumber % FORMATS.length] ?? FORMATS[0]
  const body = { model, stream: how === 'stream', ...format?.body(promptOf(caseNumber, fates)) }
  const client = new AbortController()
  const answer = fetch(`${gateway.url}${format?.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-request-id': `case-${caseNumber}` },
    body: JSON.stringify(body),
    signal: client.signal,
  }).catch(() => undefined)
  if (leave === 0) {
    await until(() => upstreams.calls.some((call) => call.caseNumber === caseNumber))
    client.abort()
  }
  const response = await answer
  const requestId = response?.headers.get('x-request-id')
  if (requestId) requestIds.set(caseNumber, requestId)
  await readUntil(response, leave).catch(() => undefined)
  client.abort()
}

async function readUntil(response: Response | undefined, deltas = Number.POSITIVE_INFINITY): Promise<void> {
  let text = ''
  for await (const piece of response?.body ?? []) {
    text += new TextDecoder().decode(piece)
    if (text.split('answers ').length > deltas) return
  }
}

type Entry = Readonly<{ name: string; upstreamId: string | null; cause: string; tokens: number; isNone: boolean }>

/** Our books: what stands under each call of each request. */
function ourBooks(): readonly Entry[] {
  const db = openDatabase(place.ledgerPath, 'read')
  if ('problem' in db) throw new Error(db.message)
  try {
    const receipts = receiptsIn(db).map(
      ({ requestId, attempts, outcome, waivedPicos, inputTokens, outputTokens, upstreamRequestId, basis }) => ({
        name: `${requestId} ${attempts}`,
        upstreamId: upstreamRequestId,
        cause: `${waivedPicos > 0n ? 'waived' : 'charged'}: ${outcome}`,
        tokens: inputTokens + outputTokens,
        isNone: basis === 'none',
      }),
    )
    const attempts = attemptsIn(db).map(({ requestId, attempt, cause, inputTokens, outputTokens, upstreamRequestId, basis }) => ({
      name: `${requestId} ${attempt}`,
      upstreamId: upstreamRequestId,
      cause: `attempt: ${cause}`,
      tokens: inputTokens + outputTokens,
      isNone: basis === 'none',
    }))
    return [...receipts, ...attempts]
  } finally {
    db.close()
  }
}

const wordsOf = (missing: readonly Call[]): readonly string[] => missing.map(({ fate, billed }) => `${fate}: ${billed}`)

type Line = { calls: number; theirs: number; ours: number; untold: number }

/** One line a cause. What is untold is the upstream's word alone: it stands in our books as a call of which we know no tokens. */
function balance(calls: readonly Call[]): { table: Map<string, Line>; missing: readonly Call[]; strange: readonly string[] } {
  const left = new Set(ourBooks())
  const table = new Map<string, Line>()
  const missing: Call[] = []
  const strange: string[] = []
  for (const call of calls) {
    // By its own id, as one would ask the upstream; where none was said, by ours.
    const name = `${requestIds.get(call.caseNumber)} ${call.number}`
    const found = [...left].filter(({ upstreamId, ...entry }) => (upstreamId === null ? entry.name === name : upstreamId === call.id))
    if (found.length > 1) strange.push(`${call.fate}: on record more than once`)
    const [entry] = found
    if (entry === undefined) {
      if (call.billed > 0) missing.push(call)
      continue
    }
    left.delete(entry)
    const line = table.get(entry.cause) ?? { calls: 0, theirs: 0, ours: 0, untold: 0 }
    line.calls++
    line.theirs += call.billed
    line.ours += entry.tokens
    if (entry.isNone) line.untold += call.billed
    table.set(entry.cause, line)
    if (entry.cause === 'waived: recovered') {
      if (entry.tokens <= call.input || entry.tokens > call.billed)
        strange.push(`${call.fate}: ${entry.tokens} of ${call.billed} at its last checkpoint`)
    } else if (call.isTold && call.billed > 0 && entry.tokens !== call.billed)
      strange.push(`${call.fate}: ${call.billed}, not ${entry.tokens} (${entry.cause})`)
    if (!(call.isTold || entry.isNone)) strange.push(`${call.fate}: nobody said ${entry.tokens}`)
  }
  for (const { name, cause } of left) strange.push(`no such call: ${name} (${cause})`)
  return { table, missing, strange }
}

function show(title: string, table: ReadonlyMap<string, Line>): void {
  const row = (name: string, ...cells: readonly (number | string)[]) =>
    `${name.padEnd(32)}${cells.map((cell) => String(cell).padStart(10)).join('')}`
  const lines = [...table]
    .toSorted()
    .map(([cause, { calls, theirs, ours, untold }]) => row(cause, calls, theirs, ours, untold, theirs - ours - untold))
  console.log([title, row('cause', 'calls', 'theirs', 'ours', 'untold', 'rest'), ...lines].join('\n'))
}

const MANY: readonly (readonly [How, readonly Fate[], { model?: string; leave?: number }?])[] = [
  ['stream', ['complete']],
  ['stream', ['reset in the answer']],
  ['stream', ['error in the answer']],
  ['stream', ['reset after the start']],
  ['stream', ['reset before the start']],
  ['stream', ['ping, then reset']],
  ['stream', ['reset without a byte']],
  ['stream', ['error first']],
  ['stream', ['status 529']],
  ['stream', ['late start'], { leave: 0 }],
  ['stream', ['goes on for ever'], { leave: 3 }],
  ['whole', ['whole']],
  ['whole', ['late whole'], { leave: 0 }],
  ['whole', ['whole cut off']],
  ['whole', ['no message']],
  ['whole', ['reset without a byte']],
  ['stream', ['reset without a byte', 'complete'], { model: BOTH }],
  ['stream', ['error first', 'complete'], { model: BOTH }],
  ['stream', ['status 529', 'reset in the answer'], { model: BOTH }],
  ['whole', ['whole cut off', 'whole'], { model: BOTH }],
]

test('after every end of an answer the upstream’s bill less ours is nothing, by cause and to the token', async () => {
  for (let round = 0; round < 3; round++) await Promise.all(MANY.map(([how, fates, more]) => ask(how, fates, more)))
  const before = upstreams.calls.length
  const atTheEnd = [
    ask('stream', ['goes on for ever']),
    ask('stream', ['never starts']),
    ask('stream', ['silent']),
    ask('whole', ['silent']),
    ask('whole', ['whole for ever']),
    ask('stream', ['complete at the gate']),
  ]
  await called(before + atTheEnd.length)
  await end()
  await Promise.all(atTheEnd)
  const { table, missing, strange } = balance(upstreams.calls)
  show('a run without kills', table)
  expect({ missing: wordsOf(missing), strange }).toEqual({ missing: [], strange: [] })
})

/** The upstream has so many calls, and the gateway has had a moment to hear of each. */
async function called(count: number): Promise<void> {
  await until(() => upstreams.calls.length >= count)
  await Bun.sleep(100)
}

test('a disk that is full, with a spill and without one, takes no call out of the books', async () => {
  const running = [
    ask('stream', ['complete at the gate']),
    ask('whole', ['whole at the gate']),
    ask('stream', ['reset before the start', 'complete at the gate'], { model: BOTH }),
    ask('stream', ['reset at the gate']),
    ask('stream', ['reset at the gate before the start']),
  ]
  await called(running.length + 1)
  limitFiles(4_096)
  upstreams.open()
  await Promise.all(running)
  limitFiles('unlimited')
  await ready()

  upstreams.close()
  const lost = [ask('stream', ['complete at the gate']), ask('whole', ['whole at the gate']), ask('stream', ['reset at the gate'])]
  await called(running.length + 1 + lost.length)
  limitFiles(16)
  upstreams.open()
  await Promise.all(lost)
  limitFiles('unlimited')
  await ready()
  await Promise.all([ask('stream', ['complete']), ask('whole', ['whole'])])
  await end()
  const { table, missing, strange } = balance(upstreams.calls)
  show('a disk without room', table)
  expect({ missing: wordsOf(missing), strange }).toEqual({ missing: [], strange: [] })
  // Two answers ended in an error where no spill could keep them, and one broke besides.
  expect(table.get('attempt: storage')).toMatchObject({ calls: 3, untold: 0 })
})

/** No file of the process may be longer. */
function limitFiles(bytes: number | 'unlimited'): void {
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(gateway.pid), `--fsize=${bytes}:unlimited`])
  if (exitCode !== 0) throw new Error(stderr.toString())
}

async function ready(): Promise<void> {
  await until(async () => (await fetch(`${gateway.operatorUrl}/readyz`)).status === 200)
}

async function end(): Promise<void> {
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
}

test('a kill costs no more of the books than what was younger than a second, and what followed each last checkpoint', async () => {
  const old = Array.from({ length: 12 }, () => ask('stream', ['drips']))
  await called(old.length)
  const oldUntilMs = performance.now()
  await until(() => checkpoints() === old.length, 'the first checkpoints, written when a request is a second old')
  const young = Array.from({ length: 8 }, () => ask('stream', ['drips']))
  const done = Array.from({ length: 4 }, () => ask('stream', ['complete']))
  await called(old.length + young.length + done.length)
  await Promise.all(done)
  gateway.signal('SIGKILL')
  await gateway.exited
  await Promise.all([...old, ...young])
  gateway = await place.serve({ env: UPSTREAM_ENV })
  await end()
  const { table, missing, strange } = balance(upstreams.calls)
  show('a kill', table)
  expect(strange).toEqual([])
  expect(wordsOf(missing.filter(({ startedAtMs }) => startedAtMs < oldUntilMs))).toEqual([])
  expect(missing.length).toBeLessThanOrEqual(young.length)
  expect(table.get('charged: complete')).toMatchObject({ calls: done.length })
  expect(table.get('waived: recovered')?.calls).toBe(old.length + young.length - missing.length)
})

/** Of requests that run, as the ledger's file has them. */
function checkpoints(): number {
  using db = new Database(place.ledgerPath, { readonly: true })
  return db.query<{ n: number }, []>('SELECT count(*) AS n FROM marks').get()?.n ?? 0
}
