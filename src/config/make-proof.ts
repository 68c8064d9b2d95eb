/** How calls to a cloud are proven, and the secrets for it. Rules: doors.md "Proofs"; operator.md "Configuration". */

import type { AwsProof, EntraProof, GoogleProof } from '../core/door.ts'
import { isObject } from '../core/json.ts'
import type { UpstreamEntry } from './catalog-schema.ts'
import type { ConfigProblem } from './problems.ts'
import { type Environment, secretOf } from './secret.ts'

/** `path`: where the upstream stands, such as `upstreams[0]`. `env` undefined: no secret is read. */
export type ProofContext = Readonly<{ path: string; env: Environment | undefined; problems: ConfigProblem[] }>

/** `service`: the AWS service that the kind's signatures name. */
export function makeAwsProof(entry: UpstreamEntry, service: string, context: ProofContext): AwsProof {
  const { aws_access_key_id_env: id, aws_secret_access_key_env: secret, aws_session_token_env: token, credentials } = entry
  const hasKeys = id !== undefined || secret !== undefined || token !== undefined
  checkOnlyOne({ api_key_env: entry.api_key_env, aws_access_key_id_env: hasKeys, credentials }, context)
  checkCredentials(entry, 'default', context)
  if (!hasKeys && credentials === undefined) {
    if (entry.signing_service !== undefined)
      context.problems.push({
        path: `${context.path}.signing_service`,
        message: 'expected keys of AWS or credentials beside it: nothing is signed',
      })
    return { by: 'key' }
  }
  if (entry.region === undefined)
    context.problems.push({ path: `${context.path}.region`, message: 'expected the region that stands in signatures, found nothing' })
  const signature = { by: 'signature', region: entry.region ?? '', service: entry.signing_service ?? service } as const
  if (!hasKeys) return { ...signature, credentials: 'chain' }
  const keys = {
    accessKeyId: needed('aws_access_key_id_env', id, context),
    secretAccessKey: needed('aws_secret_access_key_env', secret, context),
    sessionToken: token === undefined ? undefined : needed('aws_session_token_env', token, context),
  }
  return { ...signature, credentials: keys }
}

export function makeGoogleProof(entry: UpstreamEntry, context: ProofContext): GoogleProof {
  const { service_account_env: account, credentials } = entry
  checkOnlyOne({ service_account_env: account, credentials }, context)
  checkNoKey(entry, context)
  checkCredentials(entry, 'metadata', context)
  const tokenUrl = tokenUrlOf(entry, context)
  if (account !== undefined) return { by: 'service-account', serviceAccountKey: serviceAccountOf(account, context), tokenUrl }
  if (credentials === undefined)
    context.problems.push({
      path: `${context.path}.service_account_env`,
      message: 'expected it, or credentials = "metadata", found nothing',
    })
  return { by: 'metadata', tokenUrl }
}

export function makeEntraProof(entry: UpstreamEntry, context: ProofContext): EntraProof {
  const { tenant, client_id: clientId, client_secret_env: secret } = entry
  const hasClient = tenant !== undefined || clientId !== undefined || secret !== undefined
  if (!hasClient) {
    for (const name of ['token_url', 'token_scope'] as const)
      if (entry[name] !== undefined) context.problems.push({ path: `${context.path}.${name}`, message: 'expected client_id beside it' })
    return { by: 'key' }
  }
  checkOnlyOne({ api_key_env: entry.api_key_env, client_id: true }, context)
  for (const [name, value] of Object.entries({ tenant, client_id: clientId }))
    if (value === undefined) context.problems.push({ path: `${context.path}.${name}`, message: 'expected a text, found nothing' })
  const clientSecret = needed('client_secret_env', secret, context)
  const tokenUrl = tokenUrlOf(entry, context)
  return { by: 'client', tenant: tenant ?? '', clientId: clientId ?? '', clientSecret, tokenUrl, scope: entry.token_scope }
}

/** The secret in the variable; '' where no secret is read, or where it is missing, which becomes one of the problems. */
function needed(setting: string, variable: string | undefined, { path, env, problems }: ProofContext): string {
  if (variable === undefined)
    problems.push({ path: `${path}.${setting}`, message: 'expected the NAME of an environment variable, found nothing' })
  return variable === undefined || env === undefined ? '' : (secretOf(env, variable, `${path}.${setting}`, problems) ?? '')
}

function serviceAccountOf(variable: string, { path, env, problems }: ProofContext): string {
  if (env === undefined) return ''
  const text = env[variable] ?? ''
  const json = parsed(text)
  const isKey = isObject(json) && typeof json['client_email'] === 'string' && typeof json['private_key'] === 'string'
  if (!isKey) {
    const message = `expected the text of a service account's JSON file in the environment variable ${variable}, ${text === '' ? 'which is not set' : 'found something else'}`
    problems.push({ path: `${path}.service_account_env`, message })
  }
  return text
}

/** Refuses two ways to prove a call, since the gateway would have to guess which one counts. */
function checkOnlyOne(ways: Readonly<Record<string, unknown>>, { path, problems }: ProofContext): void {
  const given = Object.entries(ways).flatMap(([name, value]) => (value === undefined || value === false ? [] : [name]))
  const [first, second] = given
  if (second !== undefined) problems.push({ path: `${path}.${second}`, message: `expected no ${first} beside it` })
}

function checkNoKey({ api_key_env, auth, kind }: UpstreamEntry, { path, problems }: ProofContext): void {
  for (const [name, value] of Object.entries({ api_key_env, auth }))
    if (value !== undefined) problems.push({ path: `${path}.${name}`, message: `expected none with kind = "${kind}": it takes tokens` })
}

function checkCredentials({ credentials }: UpstreamEntry, expected: string, { path, problems }: ProofContext): void {
  if (credentials !== undefined && credentials !== expected)
    problems.push({ path: `${path}.credentials`, message: `expected "${expected}" for this kind, found "${credentials}"` })
}

function tokenUrlOf({ token_url: text }: UpstreamEntry, { path, problems }: ProofContext): string | undefined {
  const url = URL.parse(text ?? '')
  if (text === undefined) return undefined
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    problems.push({ path: `${path}.token_url`, message: 'expected an http or https address without user and password' })
  return text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
