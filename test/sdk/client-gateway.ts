/**
 * A listening gateway for real clients: its upstream is the simulator behind a port of its own, as fast as it is read. What a client shows as usage is put
 * into `bill`; `audit` then demands that the ledger took exactly that, to the picodollar, and that nothing is held.
 */

import { expect } from 'bun:test'
import type { Picos } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { NO_USAGE, type Usage } from '../../src/core/usage.ts'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import { chatUpstream, MODEL_ID, startTestGateway, type TestGateway, type TestKey } from '../support/gateway.ts'
import { makeTestModel } from '../support/world.ts'
import { startProcessesGateway } from './processes-gateway.ts'

export { MODEL_ID }

export type ClientGateway = Readonly<{
  gateway: GatewayOfClients
  /** For clients of the native format; `baseUrl` for the others. */
  url: string
  baseUrl: string
  /** With 25 USD; with nothing on it; and one that was never issued. */
  secret: string
  poorSecret: string
  wrongSecret: string
  /** For the clients: counts and keeps what they send, and shortens the waits of their retries to a millisecond. */
  fetch: typeof fetch
  sent: readonly Sent[]
  /** Adds what a client was shown to what it must have paid. */
  bill(usage: Partial<Usage>): Picos
  /** What the ledger took is what was billed, of the account as of the key; nothing is held and the ledger is sound. */
  audit(): Promise<void>
  stop(): Promise<void>
}>

/** What the clients' tests see of their gateway, one process or several. */
export type GatewayOfClients = Pick<TestGateway, 'url' | 'receipts' | 'verify' | 'idle' | 'stop'> &
  Readonly<{
    createKey(key: TestKey): Promise<string>
    /** What the key has spent, and what its account has left. */
    moneyOf(keyId: string): Readonly<{ spentPicos: bigint; balancePicos: bigint }>
  }>

/** As many relays as this stand before one ledger; 1: the gateway is in this process. */
const PROCESSES = Number(process.env['SDK_PROCESSES'] ?? 1)

type Sent = Readonly<{ path: string; body: Record<string, unknown>; headers: Headers; status: number }>

const BALANCE = { usd: '25', picos: 25_000_000_000_000n }

/** `speaks`: the format of the upstream. */
export async function startClientGateway(speaks: 'native' | 'chat' = 'native'): Promise<ClientGateway> {
  const simulator = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: makeSimulator({ tokensPerSecond: 0 }) })
  const { origin } = simulator.url
  const gateway = PROCESSES > 1 ? await startProcessesGateway(PROCESSES, origin, speaks) : await startInThisProcess(origin, speaks)
  const secret = await gateway.createKey({ id: 'key_client', balanceUsd: BALANCE.usd })
  const poorSecret = await gateway.createKey({ id: 'key_poor', balanceUsd: '0.000001', limitUsd: '0' })
  const sent: Sent[] = []
  let owed = 0n
  return {
    gateway,
    url: gateway.url,
    baseUrl: `${gateway.url}/v1`,
    secret,
    poorSecret,
    wrongSecret: `${secret.slice(0, -1)}${secret.endsWith('x') ? 'y' : 'x'}`,
    fetch: recordingFetch(sent),
    sent,
    bill(usage) {
      const cost = costOf({ ...NO_USAGE, ...usage }, makeTestModel().rates)
      owed += cost
      return cost
    },
    async audit() {
      await gateway.idle()
      expect(gateway.verify()).toEqual([])
      expect(gateway.moneyOf('key_client')).toEqual({ spentPicos: owed, balancePicos: BALANCE.picos - owed })
      expect(owed).toBeGreaterThan(0n)
    },
    async stop() {
      await gateway.stop()
      await simulator.stop(true)
    },
  }
}

async function startInThisProcess(origin: string, speaks: 'native' | 'chat'): Promise<GatewayOfClients> {
  const gateway = await startTestGateway(speaks === 'native' ? { upstreams: [origin] } : chatUpstream(`${origin}/v1`))
  const moneyOf = (keyId: string) => ({
    spentPicos: gateway.spendOf(keyId).spentPicos,
    balancePicos: gateway.ledger.keyBalanceOf(keyId)?.account.balancePicos ?? 0n,
  })
  return { ...gateway, moneyOf }
}

function recordingFetch(sent: Sent[]): typeof fetch {
  const record = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input as Request, init)
    const text = await request.clone().text()
    const response = await fetch(request)
    const body = text === '' ? {} : JSON.parse(text)
    sent.push({ path: new URL(request.url).pathname, body, headers: request.headers, status: response.status })
    if (response.ok) return response
    const headers = new Headers(response.headers)
    if (headers.has('retry-after')) headers.set('retry-after-ms', '1')
    return new Response(response.body, { status: response.status, headers })
  }
  return Object.assign(record, { preconnect: fetch.preconnect })
}

/** Chat's usage and that of responses count cache tokens in; the details say which they are. */
export const billableOf = (
  shown: Readonly<{ prompt: number; output: number; cacheRead?: number; cacheWrite?: number }>,
): Partial<Usage> => ({
  input: shown.prompt - (shown.cacheRead ?? 0) - (shown.cacheWrite ?? 0),
  output: shown.output,
  cacheRead: shown.cacheRead ?? 0,
  cacheWrite5m: shown.cacheWrite ?? 0,
})

/** What a promise was rejected with; fails when it was not. Also takes the lazy promises of SDKs. */
export async function errorOf(promise: PromiseLike<unknown>): Promise<Error & Record<string, unknown>> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(outcome instanceof Error)) throw new Error(`expected an error, got ${String(outcome)}`)
  return outcome as Error & Record<string, unknown>
}

/** Two calls of one turn, by name and arguments, and what the prompt is without them. */
export const PARALLEL = 'Both, please [sim tool=add args={"a":2,"b":3}] [sim tool=weather args={"city":"Kyiv \\"π\\""}]'
export const WEATHER = { a: 2, b: 3, city: 'Kyiv "π"' }
/** A started stream that breaks; the text is in the error that every client shows. */
export const BREAKS = '[sim error=529 after=3]'
