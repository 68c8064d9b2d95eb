/** A gateway whose ports others may share, on a ledger that they may not: what an upgrade does to clients is seen without a database. Arguments as of `serve`. */

import { parseArgs } from 'node:util'
import { untilStopped } from '../../src/cli/serve.ts'
import { loadConfig } from '../../src/config/load.ts'
import { startGateway } from '../../src/gateway.ts'
import { logToStderr } from '../../src/observe/stderr.ts'

const { values } = parseArgs({ options: { port: { type: 'string' } }, allowPositionals: true })
const config = loadConfig({ file: undefined, folder: process.cwd(), env: process.env })
if ('problems' in config) throw new Error(JSON.stringify(config.problems))
const gateway = await startGateway({
  config,
  startThread: () => new Worker(new URL('../../src/ledger/thread.ts', import.meta.url)),
  startWire: () => new Worker(new URL('../../src/ledger/postgres/wire.ts', import.meta.url)),
  startBodyThread: () => new Worker(new URL('../../src/relay/body-thread.ts', import.meta.url)),
  host: undefined,
  port: Number(values.port),
  isShared: true,
  log: logToStderr(),
})
if ('problem' in gateway) throw new Error(gateway.message)
const stopped = untilStopped(gateway)
gateway.world.log.notice('listening', { url: gateway.url, operator_url: gateway.operatorUrl })
process.stdout.write(`tollgate listening on ${gateway.url}\n`)
await stopped
