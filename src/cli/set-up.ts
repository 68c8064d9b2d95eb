/**
 * One line each on how pages, the bot, mail, payments and alerts are set up, and which settings are weak: for `check-config` and `doctor`. Never a secret.
 * Rules: operator.md "What is weak".
 */

import { isIP } from 'node:net'
import type { Config } from '../config/config.ts'
import type { ConfigProblem } from '../config/problems.ts'
import { type Listener, type Origins, originsOf } from '../people/origins.ts'

export type SetUp = Readonly<Record<'cabinet' | 'console' | 'telegram' | 'mail' | 'payments' | 'alerts', string>>

export function setUpOf(config: Config): SetUp {
  const { cabinet, mail, payments, alerts } = config
  const stripe = payments.stripe === undefined ? [] : [isTestKey(payments.stripe.secretKey) ? 'Stripe in test mode' : 'Stripe']
  return {
    cabinet: `${pagesOf(config, 'cabinet')}, sign-up ${cabinet.signUp}`,
    console: pagesOf(config, 'console'),
    telegram: cabinet.telegram === undefined ? 'none' : `the bot with the number ${Number.parseInt(cabinet.telegram.token, 10)}`,
    mail: mail === undefined ? 'none: people come in by links that you send' : `${hostOf(mail.url)}, from ${mail.from}`,
    payments: ['codes', ...stripe, ...(payments.text === undefined ? [] : ['your text'])].join(', '),
    alerts: [
      [...(mail === undefined ? [] : ['mail']), ...(cabinet.telegram === undefined ? [] : ['chats']), 'webhooks'].join(', '),
      alerts.allowPrivate ? 'also to private addresses' : 'to public https addresses',
    ].join(' '),
  }
}

/** The weak settings by their paths in the file; each sentence says what to do. */
export function weaknessesOf(config: Config): readonly ConfigProblem[] {
  return [...weakAddresses(config), ...weakLedger(config), ...weakSignUp(config), ...weakMail(config), ...weakPayments(config)]
}

function weakAddresses({ server, operator, cabinet }: Config): readonly ConfigProblem[] {
  const found: ConfigProblem[] = []
  const pages = [
    { path: 'cabinet.public_url', publicUrl: cabinet.publicUrl, host: server.host, hostPath: 'server.host' },
    { path: 'operator.public_url', publicUrl: operator.publicUrl, host: operator.host, hostPath: 'operator.host' },
  ]
  for (const { path, publicUrl, host, hostPath } of pages) {
    if (publicUrl === undefined) {
      if (isThisMachine(host)) continue
      const message = `others reach ${host}, but ${path} is not set: links lead to this machine, and sign-ins travel unencrypted`
      found.push({ path: hostPath, message })
      continue
    }
    const { protocol, hostname } = new URL(publicUrl)
    if (protocol === 'http:' && !isThisMachine(hostname))
      found.push({
        path,
        message: `sign-ins at ${publicUrl} travel unencrypted: put a proxy with TLS before it and name its https address`,
      })
    if (isAddress(hostname))
      found.push({ path, message: `passkeys are not offered: they belong to a host name, and ${hostname} is an address` })
  }
  if (isHttps(cabinet.publicUrl) && server.trustedProxies.length === 0) {
    const message = 'is empty, and an https address means a proxy: unless it is named, all clients count as one address'
    found.push({ path: 'server.trusted_proxies', message })
  }
  return found
}

function weakSignUp({ cabinet, mail, alerts }: Config): readonly ConfigProblem[] {
  if (cabinet.signUp === 'closed') return []
  const noMail = { path: 'cabinet.sign_up', message: 'is open without [mail]: no e-mail address is proven' }
  const reach = { path: 'alerts.allow_private', message: 'lets anyone who signs up make this machine call addresses of your network' }
  return [...(mail === undefined ? [noMail] : []), ...(alerts.allowPrivate ? [reach] : [])]
}

/** The modes that Bun's driver takes as encrypted: https://bun.sh/reference/bun/SQL/PostgresOrMySQLOptions/tls. */
const ENCRYPTED_MODES: ReadonlySet<string | null> = new Set(['require', 'verify-ca', 'verify-full'])

function weakLedger({ ledger }: Config): readonly ConfigProblem[] {
  if (ledger.kind === 'sqlite') return []
  const { hostname, searchParams } = new URL(ledger.url)
  const found: ConfigProblem[] = []
  if (!isThisMachine(hostname) && !ENCRYPTED_MODES.has(searchParams.get('sslmode')))
    found.push({ path: 'ledger.url_env', message: 'TLS is not required: put ?sslmode=verify-full behind the address' })
  if (ledger.statementKey === undefined) found.push({ path: 'ledger.statement_key_env', message: 'is not set: no statement can be signed' })
  return found
}

/** Warns of STARTTLS that is only offered: an attacker on the way can remove the offer from the server's greeting. */
function weakMail({ mail }: Config): readonly ConfigProblem[] {
  const url = mail === undefined ? null : URL.parse(mail.url)
  if (url?.protocol !== 'smtp:' || isThisMachine(url.hostname) || url.searchParams.get('requireTLS') === 'true') return []
  return [{ path: 'mail.url_env', message: 'TLS is not required: use smtps://, or smtp:// with ?requireTLS=true behind the address' }]
}

function weakPayments({ payments: { stripe }, cabinet }: Config): readonly ConfigProblem[] {
  if (stripe === undefined || !isTestKey(stripe.secretKey) || !isHttps(cabinet.publicUrl)) return []
  return [{ path: 'payments.stripe.secret_key_env', message: 'is a key of test mode: a test card is enough to make a balance' }]
}

/** Whether a secret or restricted key is one for tests: https://docs.stripe.com/keys. */
const isTestKey = (key: string): boolean => /^[sr]k_test_/.test(key)
const isHttps = (url: string | undefined): boolean => url?.startsWith('https:') === true
const hostOf = (url: string): string => URL.parse(url)?.host ?? 'an address that cannot be read'
const bare = (host: string): string => host.replace(/^\[|\]$/g, '')
const isAddress = (host: string): boolean => isIP(bare(host)) > 0
const isThisMachine = (host: string): boolean => host === 'localhost' || bare(host) === '::1' || /^127\.[\d.]+$/.test(host)

function pagesOf({ server, operator, cabinet }: Config, listener: Listener): string {
  const { host, port, publicUrl } = listener === 'cabinet' ? { ...server, ...cabinet } : operator
  const { base, passkeyHost }: Origins = originsOf(publicUrl, `http://${host.includes(':') ? `[${host}]` : host}:${port}`)
  const where = publicUrl === undefined && port === 0 ? 'at a port that the start picks' : `${base}/${listener}`
  return `${where}, ${passkeyHost === undefined ? 'no passkeys' : 'passkeys'}`
}
