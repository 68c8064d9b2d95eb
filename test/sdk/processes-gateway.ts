/** The gateway of the clients' tests as `serve --processes N`: relays before one ledger, each request on whichever of them the kernel picks. Rules: processes.md "Relays". */

import type { Database } from 'bun:sqlite'
import { differencesInFile } from '../../src/ledger/sqlite/verify.ts'
import { Place } from '../crash/process.ts'
import { MODEL_ID, receiptsIn } from '../support/gateway.ts'
import { openToRead } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { makeTestModel } from '../support/world.ts'
import type { GatewayOfClients } from './client-gateway.ts'

const configurationOf = (upstreamUrl: string, speaks: 'native' | 'chat'): string => {
  const { contextWindow, maxOutputTokens } = makeTestModel()
  return `
[operator]
port = 0
[[upstreams]]
name = "main"
base_url = "${upstreamUrl}"
api_key_env = "UPSTREAM_API_KEY"
${speaks === 'chat' ? 'kind = "openai"' : ''}
[[models]]
id = "${MODEL_ID}"
upstream_model = "vendor-sonnet-1"
upstreams = ["main"]
input = "3.00"
output = "15.00"
context_window = ${contextWindow}
max_output_tokens = ${maxOutputTokens}
[plans.default]
models = ["*"]
`
}

export async function startProcessesGateway(count: number, origin: string, speaks: 'native' | 'chat'): Promise<GatewayOfClients> {
  const place = new Place(undefined, { UPSTREAM_API_KEY: 'upstream-secret-0123456789' })
  place.write('tollgate.toml', configurationOf(speaks === 'chat' ? `${origin}/v1` : origin, speaks))
  const process = await place.serve({ args: ['--processes', `${count}`] })
  const reading = <Result>(read: (db: Database) => Result): Result => {
    const db = openToRead(place.ledgerPath) as Database
    try {
      return read(db)
    } finally {
      db.close()
    }
  }
  /** The ids that the gateway has given, by those that tests give. */
  const ids = new Map<string, string>()
  return {
    url: process.url,
    async createKey({ id = 'key', balanceUsd = '25', limitUsd }) {
      const limit = limitUsd === undefined ? [] : ['--limit', limitUsd]
      const made = await place.json<{ id: string; key: string }>('keys', 'create', '--balance', balanceUsd, ...limit)
      ids.set(id, made.id)
      return made.key
    },
    receipts: () => reading(receiptsIn),
    verify: () => reading(differencesInFile),
    moneyOf: (keyId) =>
      reading((db) => {
        const row = db
          .query<{ spentPicos: bigint; balancePicos: bigint }, [string]>(
            'SELECT keys.spent_picos AS "spentPicos", balance_picos AS "balancePicos" FROM keys JOIN accounts ON accounts.number = keys.account_number WHERE keys.id = ?',
          )
          .get(ids.get(keyId) ?? '')
        if (row === null) throw new Error(`no key ${keyId}`)
        return row
      }),
    idle: () => until(async () => (await place.json<{ data: unknown[] }>('holds', 'list')).data.length === 0, 'nothing is held'),
    stop: () => place.remove(),
  }
}
