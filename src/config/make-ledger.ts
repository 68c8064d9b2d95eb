/**
 * The `[ledger]` table: a file of this machine, or Postgres, whose address holds a password and comes from the environment only. Rules: operator.md
 * "Configuration", "Two ledgers".
 */

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { CONNECTIONS_MIN } from '../core/connections.ts'
import type { LedgerConfig } from './config.ts'
import { LEASE_MS, LEDGER_PATH } from './defaults.ts'
import type { ConfigProblem } from './problems.ts'
import type { ConfigFile } from './schema.ts'
import { NAME_MAX } from './schema-values.ts'
import type { Environment } from './secret.ts'

/** `folder`: where a relative path starts. `needsKey`: false for commands that sign nothing. */
export type LedgerPlace = Readonly<{ folder: string; env: Environment; needsKey: boolean }>

/** Every command reads the ledger, so its address is always read from the environment. Every mistake goes to `problems`, never with the address or the key. */
export function makeLedger(
  { path: file = LEDGER_PATH, url_env, statement_key_env, node, lease_ms, connections }: NonNullable<ConfigFile['ledger']>,
  place: LedgerPlace,
  problems: ConfigProblem[],
): LedgerConfig {
  const path = resolve(place.folder, file)
  if (url_env === undefined) {
    const onlyBeside = 'expected url_env beside it: a ledger that is a file'
    if (statement_key_env !== undefined)
      problems.push({ path: 'ledger.statement_key_env', message: `${onlyBeside} keeps its key beside itself` })
    if (node !== undefined) problems.push({ path: 'ledger.node', message: `${onlyBeside} has one node` })
    if (lease_ms !== undefined) problems.push({ path: 'ledger.lease_ms', message: `${onlyBeside} has one node` })
    if (connections !== undefined) problems.push({ path: 'ledger.connections', message: `${onlyBeside} is asked over none` })
    return { kind: 'sqlite', path }
  }
  const url = urlOf(url_env, place.env, problems)
  const statementKey = statement_key_env === undefined ? undefined : keyOf(statement_key_env, place, problems)
  return {
    kind: 'postgres',
    path,
    url,
    node: node ?? ownName(),
    leaseMs: lease_ms ?? LEASE_MS,
    connections: connections ?? CONNECTIONS_MIN,
    statementKey,
  }
}

/** The address for people: host, database and user, never the password. */
export function textOfLedger(ledger: LedgerConfig): string {
  if (ledger.kind === 'sqlite') return ledger.path
  const { host, pathname } = new URL(ledger.url)
  return `Postgres at ${host}, database ${pathname.slice(1)}, as node ${ledger.node}`
}

function urlOf(variable: string, env: Environment, problems: ConfigProblem[]): string {
  const path = 'ledger.url_env'
  const text = env[variable] ?? ''
  const url = URL.parse(text)
  if (text === '')
    problems.push({ path, message: `expected the database's address in the environment variable ${variable}, which is not set` })
  else if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol) || url.hostname === '' || !/^\/[^/%]+$/.test(url.pathname))
    problems.push({ path, message: `expected postgres://USER:PASSWORD@HOST:PORT/DATABASE in ${variable}, found another text` })
  else if ([...url.searchParams].some(([name, value]) => /^ssl[-_]?mode$/i.test(name) && !SSL_MODES.includes(value)))
    problems.push({ path, message: `expected sslmode in ${variable} to be one of ${SSL_MODES.join(', ')}, found another word` })
  return text
}

/** https://www.postgresql.org/docs/current/libpq-ssl.html, table 32.1. */
const SSL_MODES: readonly string[] = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/** The variable holds PEM, which a ledger in a file keeps beside itself, or the base64 of PKCS #8 in DER, which is one line: https://www.rfc-editor.org/rfc/rfc8410. */
function keyOf(variable: string, { env, needsKey }: LedgerPlace, problems: ConfigProblem[]): string | undefined {
  const path = 'ledger.statement_key_env'
  const text = env[variable] ?? ''
  if (text === '') {
    if (needsKey) problems.push({ path, message: `expected the key in the environment variable ${variable}, which is not set` })
    return undefined
  }
  const key = privateKeyOf(text)
  if (key?.asymmetricKeyType === 'ed25519') return key.export({ format: 'pem', type: 'pkcs8' }).toString()
  problems.push({ path, message: `expected an Ed25519 private key in ${variable}, PEM or its base64, found another text` })
  return undefined
}

function privateKeyOf(text: string): KeyObject | undefined {
  try {
    if (text.includes('-----BEGIN')) return createPrivateKey(text)
    return createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' })
  } catch {
    return undefined
  }
}

/** The host's name, with the characters that a node's name may have. */
const ownName = (): string =>
  hostname()
    .replaceAll(/[^0-9A-Za-z_.-]/g, '-')
    .replace(/^[_.-]+/, '')
    .slice(0, NAME_MAX) || 'node'
