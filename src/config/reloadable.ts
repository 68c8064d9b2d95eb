/**
 * What a reload may change. Host, port, ledger, the operator's address, the bot, the idle limit, the room for kept answers and secrets stay as they were at start. The first
 * upstream with `transport = "fetch"` is in force at once, but has all its connections only in a process that was started with one.
 * Rules: operator.md "Reload".
 */

import type { DoorSettings } from '../core/door.ts'
import type { Config, PaymentsConfig, UpstreamConfig } from './config.ts'

/** `config` is `after` with what must not change taken from `before`; `ignored` names those fields, as they are called in the file. */
export function reloadable(before: Config, after: Config): { config: Config; ignored: string[] } {
  const ignored: string[] = []
  const keep = <T>(field: string, old: T, wanted: T): T => {
    if (old !== wanted) ignored.push(field)
    return old
  }
  const config: Config = {
    ...after,
    server: {
      ...after.server,
      host: keep('server.host', before.server.host, after.server.host),
      port: keep('server.port', before.server.port, after.server.port),
    },
    operator: {
      ...after.operator,
      host: keep('operator.host', before.operator.host, after.operator.host),
      port: keep('operator.port', before.operator.port, after.operator.port),
    },
    cabinet: { ...after.cabinet, telegram: telegramOf(before, after, () => ignored.push('cabinet.telegram')) },
    mail: mailOf(before.mail, after.mail, () => ignored.push('mail')),
    payments: paymentsOf(before.payments, after.payments, () => ignored.push('payments.stripe')),
    limits: {
      ...after.limits,
      idleMs: keep('limits.idle_ms', before.limits.idleMs, after.limits.idleMs),
      keptAnswersBytes: keep('limits.kept_answers_bytes', before.limits.keptAnswersBytes, after.limits.keptAnswersBytes),
    },
    ledger: ledgerOf(before.ledger, after.ledger, () => ignored.push('ledger')),
    upstreams: after.upstreams.map((upstream, index) => {
      if (upstream.transport === 'fetch' && !before.upstreams.some(({ transport }) => transport === 'fetch'))
        ignored.push(`upstreams[${index}].transport`)
      const old = before.upstreams.find(({ name }) => name === upstream.name)
      return old === undefined ? upstream : withSecretsOf(old, upstream, (setting) => ignored.push(`upstreams[${index}].${setting}`))
    }),
  }
  return { config, ignored }
}

/** The ledger as it was at start. A change is noted without its values, since address and key are secrets. */
function ledgerOf(before: Config['ledger'], after: Config['ledger'], onChange: () => void): Config['ledger'] {
  if (!Bun.deepEquals(before, after)) onChange()
  return before
}

/** The mail server as it was at start. A change is noted without its value, since the address is a secret. */
function mailOf(before: Config['mail'], after: Config['mail'], onChange: () => void): Config['mail'] {
  if (!Bun.deepEquals(before, after)) onChange()
  return before
}

/** The bot as it was at start. A change is noted without its value, since the token is a secret. */
function telegramOf({ cabinet: before }: Config, { cabinet: after }: Config, onChange: () => void): Config['cabinet']['telegram'] {
  if (before.telegram?.token !== after.telegram?.token) onChange()
  return before.telegram
}

/** A new upstream brings its secret; a known one keeps the secret it started with. */
function withSecretsOf(old: UpstreamConfig, upstream: UpstreamConfig, onChange: (setting: string) => void): UpstreamConfig {
  if (old.apiKey !== upstream.apiKey) onChange('api_key_env')
  if (!Bun.deepEquals(old.secretHeaders, upstream.secretHeaders)) onChange('headers')
  return {
    ...upstream,
    apiKey: old.apiKey,
    secretHeaders: old.secretHeaders,
    door: withProofOf(old.door, upstream.door, () => onChange('credentials')),
  }
}

/** The door keeps the credentials that it started with; an upstream of another kind has another door, which brings its own. */
function withProofOf(old: DoorSettings, door: DoorSettings, onChange: () => void): DoorSettings {
  if (!('proof' in old && 'proof' in door) || old.kind !== door.kind || Bun.deepEquals(old.proof, door.proof)) return door
  onChange()
  return { ...door, proof: old.proof } as DoorSettings
}

/** Whether Stripe is used, and its secrets, stay as they were at start, when its webhook was opened or not. Bounds and words are taken over. */
function paymentsOf(before: PaymentsConfig, after: PaymentsConfig, onChange: () => void): PaymentsConfig {
  const [old, wanted] = [before.stripe, after.stripe]
  if (old?.secretKey !== wanted?.secretKey || old?.webhookSecret !== wanted?.webhookSecret) onChange()
  if (old === undefined) return { ...after, stripe: undefined }
  return { ...after, stripe: { ...(wanted ?? old), secretKey: old.secretKey, webhookSecret: old.webhookSecret } }
}
