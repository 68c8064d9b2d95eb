/** `bun run up`: the first command of a newcomer. A gateway on the simulator, a key with money on it, and lines to paste. */

import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import type { ConfigProblems } from '../config/problems.ts'
import { DEFAULT_PLAN } from '../core/catalog.ts'
import { parseUsd } from '../core/money.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { newKey } from '../ledger/operations/key-writes.ts'
import { newId } from '../ledger/operations/new-id.ts'
import { describeBug } from '../observe/bug.ts'
import { logToStderr } from '../observe/stderr.ts'
import type { Listener } from '../people/origins.ts'
import { guardAgainstBugs } from './bug-guard.ts'
import { reload } from './reload.ts'
import { untilStopped } from './serve.ts'

const DEMO_USD = '5'
/** A reserved name: https://www.rfc-editor.org/rfc/rfc2606 */
const DEMO_EMAIL = 'demo@example.com'
const MODEL = 'claude-sonnet-5-5'

async function up(): Promise<number> {
  const folder = join(process.cwd(), 'data', 'demo')
  const load = () => demoConfig(folder)
  const gateway = await start(folder, load)
  if (typeof gateway === 'string') {
    process.stderr.write(`tollgate: ${gateway}\n`)
    return 1
  }
  guardAgainstBugs(gateway.world.log)
  process.on('SIGHUP', () => reload(gateway, load(), Date.now()))
  const demo = await createDemoKey(gateway)
  if (demo === undefined) {
    await gateway.drain()
    process.stderr.write('tollgate: the demo key could not be created\n')
    return 1
  }
  process.stdout.write(welcome(gateway.url, demo.secret, await signInLinks(gateway, demo.accountId)))
  await untilStopped(gateway)
  return 0
}

/** The demo's folder has its own ledger, and a configuration only if one was put there. The console takes a free port; only the simulator is called, so nothing costs money. */
function demoConfig(folder: string): Config | ConfigProblems {
  const loaded = loadConfig({ file: undefined, folder, env: {} })
  return 'problems' in loaded ? loaded : { ...loaded, operator: { ...loaded.operator, port: 0 }, upstreams: [] }
}

/** Listens on the usual port, or on a free one where it is taken. */
async function start(folder: string, readConfig: () => Config | ConfigProblems): Promise<Gateway | string> {
  const config = readConfig()
  if ('problems' in config) return `${folder} holds a configuration with mistakes`
  const options = {
    config,
    readConfig,
    startThread: () => new Worker(new URL('../ledger/thread.ts', import.meta.url)),
    startSyncDriver: () => new Worker(new URL('../ledger/postgres/sync-driver.ts', import.meta.url)),
    startBodyThread: () => new Worker(new URL('../relay/body-thread.ts', import.meta.url)),
    startAnswersThread: () => new Worker(new URL('../answers/thread.ts', import.meta.url)),
    startHistoryThread: () => new Worker(new URL('../history/thread.ts', import.meta.url)),
    startPeopleThread: () => new Worker(new URL('../people/thread.ts', import.meta.url)),
    host: undefined,
    log: logToStderr(),
  }
  const gateway = await startGateway({ ...options, port: undefined })
  if (!('problem' in gateway)) return gateway
  if (gateway.problem === 'ledger') return gateway.message
  const elsewhere = await startGateway({ ...options, port: 0 })
  return 'problem' in elsewhere ? elsewhere.message : elsewhere
}

/** Makes a key; gives its secret and the account whose balance the key spends. */
async function createDemoKey(gateway: Gateway): Promise<{ secret: string; accountId: string } | undefined> {
  const amountPicos = parseUsd(DEMO_USD)
  if (amountPicos === undefined) return undefined
  const now = Date.now()
  const { operation, secret } = newKey(
    {
      keyId: newId('key', now),
      // The name has the time, since names are unique and an earlier run's ledger is used again.
      name: `demo ${new Date(now).toISOString()}`,
      accountId: null,
      plan: DEFAULT_PLAN,
      limitPicos: null,
      expiresInDays: null,
      topUp: { creditId: newId('crd', now), amountPicos, ref: '' },
    },
    now,
  )
  const { result } = await gateway.world.ledger.operate(operation)
  return result === 'done' ? { secret, accountId: operation.ownAccountId } : undefined
}

type SignInLinks = Readonly<Record<Listener, string>>

/** Makes the demo's one person an owner of the account and an operator; gives the links to sign in with. */
async function signInLinks({ people }: Gateway, accountId: string): Promise<SignInLinks> {
  const { memberships } = people()
  const person = await people().known(DEMO_EMAIL)
  await memberships.join(person.id, { accountId, role: 'owner' })
  await memberships.makeOperator(person.id)
  return { cabinet: await people().signInLink('cabinet', person), console: await people().signInLink('console', person) }
}

const welcome = (url: string, secret: string, links: SignInLinks): string => `
Tollgate is running at ${url}
The embedded simulator answers instead of a model: nothing leaves this machine, nothing is paid.
A demo key with $${DEMO_USD} on it:

  export KEY=${secret}

The native messages format, streamed:

  curl -N ${url}/v1/messages -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{"model":"${MODEL}","max_tokens":300,"stream":true,"messages":[{"role":"user","content":"Hello, who are you? [sim speed=20]"}]}'

Chat completions, in one piece and streamed:

  curl ${url}/v1/chat/completions -H "authorization: Bearer $KEY" -d '{"model":"${MODEL}","messages":[{"role":"user","content":"Hello"}]}'
  curl -N ${url}/v1/chat/completions -H "authorization: Bearer $KEY" -d '{"model":"${MODEL}","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

Responses:

  curl -N ${url}/v1/responses -H "authorization: Bearer $KEY" -d '{"model":"${MODEL}","stream":true,"input":"Hello"}'

What is left on the key, and the models it may use:

  curl ${url}/v1/dashboard/balance -H "authorization: Bearer $KEY"
  curl ${url}/v1/models -H "authorization: Bearer $KEY"

For a browser – the guide, and cabinet and console by links that sign you in once, within the hour:

  ${url}/docs
  ${links.cabinet}
  ${links.console}

Ctrl-C stops it.
`

up().then(
  (exitCode) => {
    process.exitCode = exitCode
  },
  (error: unknown) => {
    process.stderr.write(`tollgate: a bug: ${Object.values(describeBug(error)).join(' ')}\n`)
    process.exitCode = 1
  },
)
