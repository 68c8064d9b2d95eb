/**
 * Makes a configuration of `tollgate.toml` and the environment, or finds every mistake in them. Without a file it has the simulator and the sample catalogue.
 * Rules: operator.md "Configuration".
 */

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { LIMITS } from '../core/limits.ts'
import type { Config } from './config.ts'
import { OPERATOR } from './defaults.ts'
import { makeCatalog } from './make-catalog.ts'
import { makeLedger } from './make-ledger.ts'
import { makeMail } from './make-mail.ts'
import { makePayments } from './make-payments.ts'
import { makePublicUrl, makeServer } from './make-server.ts'
import { makeTelegram } from './make-telegram.ts'
import { makeUpstreams } from './make-upstreams.ts'
import { type ConfigProblem, type ConfigProblems, shapeProblems } from './problems.ts'
import { CONFIG_FILE, type ConfigFile } from './schema.ts'
import type { Environment } from './secret.ts'
import { settingsWithoutEffect } from './without-effect.ts'

export type LoadOptions = Readonly<{
  /** The file that `--config` names, relative to `folder`; undefined: `tollgate.toml` in it, if there is one. */
  file: string | undefined
  folder: string
  env: Environment
  /** False for commands that never call an upstream: a missing secret is then no mistake. One upstream's, for a command that calls only that one. Default true: all. */
  needsSecrets?: boolean | Readonly<{ ofUpstream: string }>
}>

const DEFAULT_FILE = 'tollgate.toml'

export function loadConfig(options: LoadOptions): Config | ConfigProblems {
  const file = resolve(options.folder, options.file ?? DEFAULT_FILE)
  const read = readShape(file, options.file !== undefined)
  return 'problems' in read ? read : configOf(read.entry, read.isThere ? file : undefined, options)
}

/** The tables of the file, checked against the schema. A missing file counts as an empty one, unless it was named. */
export function readShape(file: string, isNamed: boolean): Readonly<{ entry: ConfigFile; isThere: boolean }> | ConfigProblems {
  const text = readText(file, isNamed)
  if (text === undefined) return { entry: {}, isThere: false }
  const table = typeof text === 'string' ? parseToml(text) : text
  if ('message' in table) return { file, problems: [table as ConfigProblem] }
  const problems = shapeProblems(CONFIG_FILE, table.root)
  return problems.length > 0 ? { file, problems } : { entry: table.root as ConfigFile, isThere: true }
}

/** The text of the file; undefined: there is no such file, and it was not named. */
function readText(file: string, isNamed: boolean): string | ConfigProblem | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT') return isNamed ? { path: '', message: 'there is no such file' } : undefined
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { path: '', message: 'the file is not UTF-8' }
    return { path: '', message: `the file cannot be read (${code ?? 'unknown'})` }
  }
}

function parseToml(text: string): { root: unknown } | ConfigProblem {
  try {
    return { root: parse(text) }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = 'invalid TOML'] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    return { path: `line ${error.line}, column ${error.column}`, message: reason }
  }
}

/** The checks that a shape cannot express, then the units of the code. */
function configOf(entry: ConfigFile, file: string | undefined, options: LoadOptions): Config | ConfigProblems {
  const problems: ConfigProblem[] = []
  const server = makeServer(entry.server ?? {}, problems)
  const operator = { ...OPERATOR, ...entry.operator, publicUrl: makePublicUrl('operator', entry.operator?.public_url, problems) }
  const cabinet = { signUp: entry.cabinet?.sign_up ?? 'closed', publicUrl: makePublicUrl('cabinet', entry.cabinet?.public_url, problems) }
  const { env, needsSecrets = true } = options
  const ofAll = needsSecrets === true ? env : undefined
  const ofUpstream = ({ name }: { name: string }) => (typeof needsSecrets === 'object' && needsSecrets.ofUpstream === name ? env : ofAll)
  const upstreams = makeUpstreams(entry.upstreams ?? [], ofUpstream, problems)
  const mail = makeMail(entry.mail, ofAll, problems)
  const payments = makePayments(entry.payments ?? {}, ofAll, problems)
  const withoutEffect = [...settingsWithoutEffect(entry)]
  const telegram = makeTelegram(entry.cabinet?.telegram, ofAll, problems, withoutEffect)
  const place = { folder: file === undefined ? options.folder : dirname(file), env, needsKey: ofAll !== undefined }
  const ledger = makeLedger(entry.ledger ?? {}, place, problems)
  const catalog = makeCatalog(entry, problems)
  const limits = limitsOf(entry.limits ?? {})
  problems.push(...bodyProblems(limits))
  if (problems.length > 0) return { file, problems }
  return {
    file,
    server,
    operator: { host: operator.host, port: operator.port, publicUrl: operator.publicUrl },
    cabinet: { ...cabinet, telegram, publicUrl: cabinet.publicUrl ?? server.publicUrl },
    mail,
    alerts: { allowPrivate: entry.alerts?.allow_private ?? false },
    payments,
    ledger,
    limits,
    upstreams,
    catalog,
    withoutEffect,
  }
}

/** The largest body that is allowed must fit into a minute's limit: else its client would be told to come back for ever. */
function bodyProblems({ bodyBytes, bodyBytesPerMinute }: Config['limits']): readonly ConfigProblem[] {
  if (bodyBytesPerMinute >= bodyBytes) return []
  const message = `expected at least as many bytes as limits.body_bytes allows for one body (${bodyBytes}), found ${bodyBytesPerMinute}`
  return [{ path: 'limits.body_bytes_per_minute', message }]
}

const limitsOf = (limits: NonNullable<ConfigFile['limits']>): Config['limits'] => ({
  bodyBytes: limits.body_bytes ?? LIMITS.bodyBytes,
  bodyBytesPerMinute: limits.body_bytes_per_minute ?? LIMITS.bodyBytesPerMinute,
  startTimeoutMs: limits.start_timeout_ms ?? LIMITS.startTimeoutMs,
  totalTimeoutMs: limits.total_timeout_ms ?? LIMITS.totalTimeoutMs,
  firstEventTimeoutMs: limits.first_event_timeout_ms ?? LIMITS.firstEventTimeoutMs,
  stallTimeoutMs: limits.stall_timeout_ms ?? LIMITS.stallTimeoutMs,
  writeStallMs: limits.write_stall_ms ?? LIMITS.writeStallMs,
  requestsPerMinute: limits.requests_per_minute ?? LIMITS.requestsPerMinute,
  concurrentRequests: limits.concurrent_requests ?? LIMITS.concurrentRequests,
  dashboardPerMinute: limits.dashboard_per_minute ?? LIMITS.dashboardPerMinute,
  drainMs: limits.drain_ms ?? LIMITS.drainMs,
  idleMs: limits.idle_ms ?? LIMITS.idleMs,
  keptAnswersBytes: limits.kept_answers_bytes ?? LIMITS.keptAnswersBytes,
})
