/** The `[[upstreams]]` and their secrets, which come from the environment only. Rules: operator.md "Configuration". */

import type { UpstreamEntry } from './catalog-schema.ts'
import type { UpstreamConfig } from './config.ts'
import { UPSTREAM_DEFAULTS, VENDOR_HOST } from './defaults.ts'
import { addressOf, authOf, makeDoor } from './make-door.ts'
import { type ConfigProblem, describe } from './problems.ts'
import { type Environment, secretOf } from './secret.ts'

/**
 * The upstreams of the configuration. `envFor`: where an upstream's secrets are read; undefined: none of them is. Every mistake is added to `problems`, never with the
 * value of a secret.
 */
export function makeUpstreams(
  entries: readonly UpstreamEntry[],
  envFor: (entry: UpstreamEntry) => Environment | undefined,
  problems: ConfigProblem[],
): readonly UpstreamConfig[] {
  const names = new Set<string>()
  return entries.map((entry, index) => {
    const path = `upstreams[${index}]`
    const env = envFor(entry)
    if (names.has(entry.name))
      problems.push({ path: `${path}.name`, message: `expected each name once, found ${describe(entry.name)} again` })
    names.add(entry.name)
    const transport = entry.transport ?? UPSTREAM_DEFAULTS.transport
    if (entry.proxy_env !== undefined && transport !== 'fetch')
      problems.push({ path: `${path}.proxy_env`, message: 'expected transport = "fetch" beside it: no other transport knows proxies' })
    const door = makeDoor(entry, { path, env, problems })
    const headers = headersOf(entry.headers, `${path}.headers`, env, problems)
    const address = baseUrlOf(addressOf(entry), `${path}.base_url`, problems)
    // The address of a server of chat keeps its `/v1`, since clients of chat have it in theirs, and manuals write it so.
    const baseUrl = door.kind === 'openai' ? address : address.replace(/\/v1$/, '')
    return {
      name: entry.name,
      door,
      baseUrl,
      apiKey:
        env === undefined || entry.api_key_env === undefined
          ? undefined
          : secretOf(env, entry.api_key_env, `${path}.api_key_env`, problems),
      auth: authOf(entry),
      edits: editsOf(entry),
      ...headers,
      weight: entry.weight ?? UPSTREAM_DEFAULTS.weight,
      priority: entry.priority ?? UPSTREAM_DEFAULTS.priority,
      maxConcurrent: entry.max_concurrent ?? UPSTREAM_DEFAULTS.maxConcurrent,
      connectTimeoutMs: entry.connect_timeout_ms ?? UPSTREAM_DEFAULTS.connectTimeoutMs,
      transport,
      hidesErrorText: entry.error_text === 'own',
      dialect: entry.dialect ?? (URL.parse(baseUrl)?.hostname === VENDOR_HOST ? 'vendor' : 'strict'),
      countTokens: entry.count_tokens ?? (door.kind === 'openai' ? 'no' : UPSTREAM_DEFAULTS.countTokens),
      // A deployment of Foundry has the name that the operator gave it, and the answer names the model.
      echo: entry.echo ?? (door.kind === 'foundry' ? 'any' : UPSTREAM_DEFAULTS.echo),
      forwardsVersions: entry.versions !== 'no',
      forwardsBetas: entry.betas !== 'no',
      proxyUrl: env === undefined || entry.proxy_env === undefined ? undefined : proxyUrlOf(env, entry.proxy_env, path, problems),
    }
  })
}

/** Header fields that an operator cannot set, because the gateway writes them: for the connection, the body, the native format, or by the setting `auth`. */
const OWN_HEADERS = new Set(
  `accept accept-encoding anthropic-beta anthropic-version authorization connection content-encoding content-length content-type cookie expect host keep-alive
  proxy-authorization te trailer transfer-encoding upgrade x-api-key`.split(/\s+/),
)

const editsOf = (entry: UpstreamEntry): UpstreamConfig['edits'] => ({
  dropBetas: entry.drop_betas ?? [],
  renameBetas: entry.rename_betas ?? {},
  dropFields: entry.drop_fields ?? [],
  hasDefaults: entry.default_edits ?? true,
})

function headersOf(
  headers: UpstreamEntry['headers'] = {},
  path: string,
  env: Environment | undefined,
  problems: ConfigProblem[],
): Pick<UpstreamConfig, 'headers' | 'secretHeaders'> {
  const made = new Map<string, string>()
  const secrets = new Map<string, string>()
  for (const [written, value] of Object.entries(headers)) {
    const name = written.toLowerCase()
    if (OWN_HEADERS.has(name))
      problems.push({ path: `${path}.${written}`, message: 'expected a header that the gateway does not write itself' })
    else if (made.has(name) || secrets.has(name))
      problems.push({ path: `${path}.${written}`, message: 'expected each name once, in whatever case' })
    if (typeof value === 'string') made.set(name, value)
    else secrets.set(name, (env && secretOf(env, value.env, `${path}.${written}`, problems)) ?? '')
  }
  return { headers: Object.fromEntries(made), secretHeaders: Object.fromEntries(secrets) }
}

/**
 * The address without slashes at its end. That of a native server loses its `/v1`, with which request paths such as `/v1/messages` begin. A wrong address is reported and returned as
 * it is; a missing address is reported by `makeDoor`.
 */
function baseUrlOf(text: string | undefined, path: string, problems: ConfigProblem[]): string {
  if (text === undefined) return ''
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    problems.push({ path, message: 'expected an http or https address, found another text' })
  else if (url.username !== '' || url.password !== '')
    problems.push({ path, message: 'expected no user and no password in the address; name a variable in api_key_env' })
  else if (url.search !== '' || url.hash !== '') problems.push({ path, message: 'expected an address without "?" and "#"' })
  else return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
  return text
}

/** A proxy's address may hold a password, so no message quotes the address. */
function proxyUrlOf(env: Environment, variable: string, path: string, problems: ConfigProblem[]): string | undefined {
  const text = env[variable]
  const url = URL.parse(text ?? '')
  if (text === undefined || text === '')
    problems.push({
      path: `${path}.proxy_env`,
      message: `expected the proxy's address in the environment variable ${variable}, which is not set`,
    })
  else if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    problems.push({ path: `${path}.proxy_env`, message: `expected an http or https address in ${variable}, found another text` })
  return text
}
