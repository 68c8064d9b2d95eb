/**
 * A world for tests of routes that spend nothing: a clock that only moves when told, the real key store, log and metrics, and a ledger that is a table in
 * memory. What spends money is tested on the real ledger (test/support/ledger.ts).
 */

import { randomBytes } from 'node:crypto'
import type { Catalog, Model } from '../../src/core/catalog.ts'
import { displayOf, type KeyRecord, makeSecret } from '../../src/core/key.ts'
import { LIMITS, type Limits } from '../../src/core/limits.ts'
import { type Picos, parseUsd, ZERO } from '../../src/core/money.ts'
import type { FactDifference } from '../../src/core/node-facts.ts'
import { TimerWheel } from '../../src/core/timer-wheel.ts'
import { KeyStore } from '../../src/ledger/admission/key-store.ts'
import type { Ledger, SyncedKeyBalance } from '../../src/ledger/ledger.ts'
import { makeMetrics } from '../../src/observe/metrics.ts'
import { BodyMemory } from '../../src/relay/body-memory.ts'
import type { World } from '../../src/world.ts'
import { GOLDEN_MODEL } from './golden.ts'
import { makeLogMemory } from './log-memory.ts'

/** 2027-01-15T08:00:00Z */
export const START = 1_800_000_000_000

export type TestWorld = Readonly<{
  world: World
  /** Moves both clocks, and turns the wheel. */
  advance(ms: number): void
  /** Makes a key and gives its secret. */
  addKey(more?: Partial<KeyRecord>, balance?: Partial<{ usd: string; lastSyncedAt: number }>): string
  /** The ledger answers again, or answers nothing. */
  setLedgerUp(isUp: boolean): void
  setLedgerSound(isSound: boolean): void
  setDraining(isDraining: boolean): void
  /** How often the ledger was asked for a key. */
  lookUps(): number
  logLines(): readonly Readonly<Record<string, unknown>>[]
}>

export type TestWorldOptions = Readonly<{
  limits?: Partial<Limits>
  catalog?: Catalog
  corsOrigins?: readonly string[]
  nodeDifferences?: readonly FactDifference[]
  trustedProxies?: readonly string[]
}>

export function makeTestWorld(options: TestWorldOptions = {}): TestWorld {
  let now = START
  let isUp = true
  let isSound = true
  let isDraining = false
  let lookUps = 0
  let requests = 0
  const keys = new Map<string, { record: KeyRecord; keyBalance: SyncedKeyBalance }>()
  const { log, lines } = makeLogMemory()
  const ledger: Ledger = {
    ...SPENDS_NOTHING,
    findKey(secretHash) {
      lookUps++
      return Promise.resolve(isUp ? keys.get(Buffer.from(secretHash).toString('hex'))?.record : 'unavailable')
    },
    keyBalanceOf: (keyId) => (isUp ? [...keys.values()].find(({ record }) => record.id === keyId)?.keyBalance : undefined),
    keyBalanceNow: (keyId) => Promise.resolve(ledger.keyBalanceOf(keyId)),
    isWritable: () => isUp,
    mayAdmit: () => true,
    isSound: () => isSound,
  }
  const wheel = new TimerWheel()
  const world: World = {
    clock: { now: () => now, monotonicMs: () => now - START },
    wheel,
    requestId: () => `req_${String(++requests).padStart(32, '0')}`,
    ledger,
    keys: new KeyStore(ledger, { now: () => now }),
    upstreams: { droppedPaths: () => [], call: () => Promise.reject(new Error('a route that spends nothing calls no upstream')) },
    reports: { ask: () => Promise.resolve('unavailable'), close: () => Promise.resolve() },
    log,
    metrics: makeMetrics(),
    catalog: () => options.catalog ?? makeTestCatalog(),
    limits: () => ({ ...LIMITS, ...options.limits }),
    dashboardUrl: () => 'https://cabinet.example/keys',
    publicUrl: () => 'https://gateway.example',
    trustedProxies: () => options.trustedProxies ?? [],
    ledgerPromise: () => '',
    isRelay: () => false,
    nodeDifferences: () => options.nodeDifferences ?? [],
    corsOrigins: () => options.corsOrigins ?? ['*'],
    isLeaving: () => isDraining,
    isDraining: () => isDraining,
  }
  return {
    world,
    advance: (ms) => {
      now += ms
      wheel.turn(now - START)
    },
    addKey(more = {}, { usd = '25', lastSyncedAt = START } = {}) {
      const secret = makeSecret(() => randomBytes(64))
      const id = `key_${keys.size + 1}`
      const record: KeyRecord = {
        id,
        accountId: `acc_${keys.size + 1}`,
        name: id,
        display: displayOf(secret),
        plan: 'default',
        limitPicos: null,
        expiresAt: null,
        isActive: true,
        isAccountActive: true,
        ...more,
      }
      keys.set(new Bun.CryptoHasher('sha256').update(secret).digest('hex'), {
        record,
        keyBalance: {
          limitPicos: null,
          spentPicos: ZERO,
          heldPicos: ZERO,
          account: { balancePicos: dollars(usd), heldPicos: ZERO },
          lastSyncedAt,
        },
      })
      return secret
    },
    setLedgerSound: (next) => {
      isSound = next
    },
    setLedgerUp: (next) => {
      isUp = next
    },
    setDraining: (next) => {
      isDraining = next
    },
    lookUps: () => lookUps,
    logLines: lines,
  }
}

/** Memory for bodies in which everybody has funds. */
export const makeTestBodies = (poolBytes = 512 * 1024 * 1024): BodyMemory =>
  new BodyMemory({ poolBytes, limits: () => LIMITS, keyBalanceOf: () => undefined, now: () => performance.now() })

/** Two plans: `default` has every model, `small` has none. Ids have the letters that make paths difficult. */
export const makeTestCatalog = (
  models: readonly Partial<Model>[] = [{}, { id: 'vendor/model:v1@2.5', createdSeconds: 1_700_000_000 }],
): Catalog => ({
  models: new Map(models.map((model) => makeTestModel(model)).map((model) => [model.id, model])),
  plans: new Map([
    ['default', { name: 'default', models: ['*'] }],
    ['small', { name: 'small', models: [] }],
  ]),
})

export const makeTestModel = (more: Partial<Model> = {}): Model => ({
  id: 'sonnet',
  displayName: 'Sonnet',
  upstreamModel: 'vendor-sonnet-1',
  upstreams: [{ name: 'primary', model: 'vendor-sonnet-1' }],
  isNative: true,
  chat: [],
  rates: GOLDEN_MODEL.rates,
  levels: [],
  contextWindow: 200_000,
  maxOutputTokens: 64_000,
  bytesPerToken: 4,
  createdSeconds: 1_759_104_000,
  rejects: new Set(),
  ...more,
})

const SPENDS_NOTHING = {
  hold: () => 'unavailable',
  checkpoint: () => undefined,
  settle: () => Promise.resolve('unavailable'),
  void: () => 'already',
  findIdempotency: () => Promise.resolve('unavailable'),
  findToken: () => Promise.resolve('unavailable'),
  isUsedUp: () => false,
  holds: () => [],
  keyBalanceOf: () => undefined,
  keyBalanceNow: () => Promise.resolve(undefined),
  operate: () => Promise.resolve({ result: 'unavailable' }),
  foreignHeads: () => Promise.resolve({ exact: new BigUint64Array(), channel: new BigUint64Array() }),
  onKeyChange: () => undefined,
  onImport: () => undefined,
  close: () => Promise.resolve(),
} as const satisfies Partial<Ledger>

function dollars(usd: string): Picos {
  const amount = parseUsd(usd)
  if (amount === undefined) throw new Error(`not an amount: ${usd}`)
  return amount
}
