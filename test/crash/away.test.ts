/**
 * A gateway whose Postgres goes away without a word, as behind a network that swallows what is sent, or a proxy before a server that is dead: nobody waits long, and what
 * was answered is charged once. Rules: nodes.md "Silence"; ledger.md "Failing writes".
 */

import { expect } from 'bun:test'
import { throughPort } from '../support/nodes.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { type TcpProxy, tcpProxyThread } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { keepBooks } from './book-keeper.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { askIn, openStream } from './load.ts'
import { type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'

/** A connection that fails for each of them in turn would be found out. */
const KEYS = 6
const REFUSED_MS_MAX = 1_000
/** A statement that is not answered, a connection that is not made, and a busy machine. */
const END_MS_MAX = 20_000
/** Longer than what was read counts, and than a connection takes to fail. */
const AWAY_MS = 7_000

const WAYS: Readonly<Record<string, (proxy: TcpProxy) => void>> = {
  'swallows what is sent': (proxy) => proxy.part(),
  'is dead behind a proxy that takes connections': (proxy) => {
    proxy.part()
    proxy.cut()
  },
}

for (const [what, goAway] of Object.entries(WAYS))
  postgresTest(
    `a Postgres that ${what} keeps no known key waiting for a second, and no answer that runs for long`,
    async () => {
      const gate = Promise.withResolvers<void>()
      const books = keepBooks(({ isStream }) => (isStream ? gate.promise : undefined))
      const proxy = await tcpProxyThread(postgres().port)
      const place = new Place(undefined, {
        ...UPSTREAM_ENV,
        LEDGER_URL: throughPort(await postgres().createDatabase(), proxy.port),
      })
      place.write('tollgate.toml', configurationOf({ upstreamUrl: books.url, more: '[ledger]\nurl_env = "LEDGER_URL"\n', drainMs: 10_000 }))
      try {
        const keys: string[] = []
        for (let n = 0; n < KEYS; n++) keys.push((await place.createKey()).key)
        const gateway = await place.serve()
        for (const key of keys) expect(await askIn('messages', gateway.url, key)).toBeDefined()
        const running = await openStream(gateway.url, keys[0] ?? '')
        await running.until('message_start')
        goAway(proxy)
        const awaySinceMs = performance.now()
        gate.resolve()
        const ended = running.rest().then((text) => ({ text, ms: performance.now() - awaySinceMs }))
        const refusedMs = await longestRefusal(gateway, keys)
        expect(refusedMs).toBeLessThan(REFUSED_MS_MAX)
        const { text, ms } = await ended
        expect(text).toContain('message_stop')
        expect(ms).toBeLessThan(END_MS_MAX)
        proxy.heal()
        await until(async () => (await askIn('messages', gateway.url, keys[0] ?? '').catch(() => undefined)) !== undefined, 'it answers')
        gateway.signal('SIGTERM')
        expect(await gateway.exited).toEqual({ code: 0, signal: null })
        expect(linesNotOurs(gateway)).toEqual([])
        await place.verify()
      } finally {
        await place.remove()
        proxy.close()
        await books.stop()
      }
    },
    4 * PROCESS_TIMEOUT_MS,
  )

postgresTest(
  'a Postgres that is killed behind a proxy puts nothing on standard error but the log',
  async () => {
    const proxy = await tcpProxyThread(postgres().port)
    const place = new Place(undefined, { ...UPSTREAM_ENV, LEDGER_URL: throughPort(await postgres().createDatabase(), proxy.port) })
    const more = '[ledger]\nurl_env = "LEDGER_URL"\nlease_ms = 2000\n'
    place.write('tollgate.toml', configurationOf({ upstreamUrl: 'http://127.0.0.1:1', more }))
    try {
      const gateway = await place.serve()
      const isReady = async (): Promise<boolean> => (await fetch(`${gateway.url}/readyz`)).status === 200
      await until(isReady, 'it is ready')
      await postgres().kill()
      await until(async () => !(await isReady()), 'it is not ready')
      await postgres().start()
      await until(isReady, 'it is ready again')
      gateway.signal('SIGTERM')
      expect(await gateway.exited).toEqual({ code: 0, signal: null })
      expect(linesNotOurs(gateway)).toEqual([])
    } finally {
      await place.remove()
      proxy.close()
    }
  },
  4 * PROCESS_TIMEOUT_MS,
)

const BODY = { model: 'sonnet', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }

/** Milliseconds that a refusal took, less what the machine takes for an answer without Postgres. */
async function longestRefusal({ url }: GatewayProcess, keys: readonly string[]): Promise<number> {
  const refused: number[] = []
  const own: number[] = []
  const timed = async (list: number[], ask: () => Promise<Response>, counts = (_: Response): boolean => true): Promise<void> => {
    const sentMs = performance.now()
    const answer = await ask()
    if (counts(answer)) list.push(performance.now() - sentMs)
    await answer.text()
  }
  const asked: Promise<void>[] = []
  const untilMs = performance.now() + AWAY_MS
  for (let turn = 0; performance.now() < untilMs; turn++) {
    const key = keys[turn % keys.length] ?? ''
    const headers = { authorization: `Bearer ${key}`, ...(turn % 2 === 0 ? {} : { 'idempotency-key': `turn-${turn}` }) }
    const ask = (): Promise<Response> => fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(BODY) })
    asked.push(timed(refused, ask, ({ status }) => status === 503))
    asked.push(timed(own, () => fetch(`${url}/livez`)))
    await Bun.sleep(50)
  }
  await Promise.all(asked)
  expect(refused.length).toBeGreaterThan(KEYS)
  return Math.max(...refused) - Math.max(...own)
}

/** What stands on standard error beside the log. */
const linesNotOurs = (gateway: GatewayProcess): readonly string[] =>
  gateway
    .err()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{"level":'))
