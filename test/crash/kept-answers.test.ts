/**
 * `kill -9` of a whole gateway while answers are finished and kept: a repetition after it gets the very answer, is told that it is gone, or is a new request that
 * nobody was charged for before; nothing is charged twice. Rules: requests.md "Kept answers", "Repeated requests". `KILL_ROUNDS` sets how often.
 */

import { expect, test } from 'bun:test'
import { openDatabase } from '../../db/open.ts'
import { receiptsIn } from '../support/gateway.ts'
import { seeded } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 2)
const WIDTH = 16
const MODEL = 'claude-sonnet-5-5'
const WAYS = ['/v1/messages', '/v1/responses'] as const

/** What a client knows of a request: `answer` undefined where it did not see its end. */
type Asked = { readonly header: string; readonly path: string; readonly body: string; answer?: string; requestId?: string | null }

function request(header: string, turn: number): Asked {
  const path = WAYS[turn % WAYS.length] ?? WAYS[0]
  const isStream = turn % 3 === 0
  const said = `say ${header}`
  const shaped = path === '/v1/messages' ? { max_tokens: 64, messages: [{ role: 'user', content: said }] } : { input: said }
  return { header, path, body: JSON.stringify({ model: MODEL, stream: isStream, ...shaped }) }
}

const send = ({ url }: GatewayProcess, key: string, { header, path, body }: Asked): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': header },
    body,
  })

/** Asks one after the other until the gateway is gone, and notes what it saw whole. */
async function client(gateway: GatewayProcess, key: string, name: string, asked: Asked[]): Promise<void> {
  for (let turn = 0; ; turn++) {
    const one = request(`${name}-${turn}`, turn)
    asked.push(one)
    try {
      const answer = await send(gateway, key, one)
      const text = await answer.text()
      if (answer.status === 200 && isWhole(one, text))
        Object.assign(one, { answer: bare(text), requestId: answer.headers.get('x-request-id') })
    } catch {
      return
    }
  }
}

/** Asks each again; gives how many got the answer that was seen before. */
async function repeat(gateway: GatewayProcess, key: string, asked: readonly Asked[]): Promise<number> {
  let replayed = 0
  for (const one of asked) {
    const again = await send(gateway, key, one)
    const text = await again.text()
    const isReplay = again.headers.get('idempotency-replayed') === 'true'
    if (one.answer === undefined) expect([200, 400]).toContain(again.status)
    else if (isReplay && again.status === 200) {
      replayed++
      expect([again.headers.get('x-request-id'), bare(text)]).toEqual([one.requestId ?? '', one.answer])
    } else
      expect([again.status, text]).toEqual([
        400,
        expect.stringContaining(`used by request ${one.requestId}, whose answer is no longer kept`),
      ])
  }
  return replayed
}

const isWhole = ({ body }: Asked, text: string): boolean =>
  !body.includes('"stream":true') || text.includes('message_stop') || text.includes('response.completed')
const bare = (text: string): string => text.replace(/^: ok\n\n/, '')

test(
  'killed at any moment, what a client saw whole is given again or is gone, and each header is charged at most once',
  seeded(async (random) => {
    const place = new Place()
    try {
      place.write('tollgate.toml', '[operator]\nport = 0\n[limits]\nrequests_per_minute = 1000000\n')
      let gateway = await place.serve()
      const { key } = await place.createKey('--balance', '10000')
      let replayed = 0
      for (let round = 0; round < ROUNDS; round++) {
        const asked: Asked[] = []
        const clients = Array.from({ length: WIDTH }, (_, n) => client(gateway, key, `r${round}-${n}`, asked))
        await until(() => asked.filter(({ answer }) => answer !== undefined).length >= 3 * WIDTH, 'three answers a client')
        await Bun.sleep(random() * 100)
        gateway.signal('SIGKILL')
        await Promise.all([gateway.exited, ...clients])
        gateway = await place.serve()
        // Each client repeats its own, one after the other: of those that were not charged the answers are made anew, at the pace of a model.
        const repeating = Array.from({ length: WIDTH }, (_, n) =>
          repeat(
            gateway,
            key,
            asked.filter(({ header }) => header.startsWith(`r${round}-${n}-`)),
          ),
        )
        for (const count of await Promise.all(repeating)) replayed += count
        expect(gateway.err()).not.toContain('"alarm"')
        await place.verify()
        expectOneChargeEach(place.ledgerPath)
      }
      // All but the last of each client had time enough.
      expect(replayed).toBeGreaterThan(2 * WIDTH * ROUNDS)
      expect(place.leaked([key, 'say r0-1'])).toEqual([])
    } finally {
      await place.remove()
    }
  }),
  (ROUNDS + 2) * PROCESS_TIMEOUT_MS,
)

function expectOneChargeEach(path: string): void {
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  try {
    const headers = db.query<{ n: bigint }, []>('SELECT count(*) AS n FROM idempotency').get()?.n
    const charged = receiptsIn(db).filter(({ costPicos }) => costPicos > 0n).length
    expect(BigInt(charged)).toBe(headers ?? 0n)
  } finally {
    db.close()
  }
}
