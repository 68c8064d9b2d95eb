/**
 * The `[server]` table: listener, addresses of proxies that may name the client, and origins of browsers.
 * Rules: keys.md "Client addresses"; requests.md "Browsers".
 */

import ipaddr from 'ipaddr.js'
import type { Config } from './config.ts'
import { DRAIN_DELAY_MS, SERVER } from './defaults.ts'
import { type ConfigProblem, describe } from './problems.ts'
import type { ConfigFile } from './schema.ts'

/** Every mistake goes to `problems`. A proxy's single address becomes a range, so that readers meet one form. */
export function makeServer(entry: NonNullable<ConfigFile['server']>, problems: ConfigProblem[]): Config['server'] {
  const dashboardUrl = entry.dashboard_url
  if (dashboardUrl !== undefined && !isHttpUrl(dashboardUrl))
    problems.push({ path: 'server.dashboard_url', message: `expected an http or https address, found ${describe(dashboardUrl)}` })
  const publicUrl = makePublicUrl('server', entry.public_url, problems)
  return {
    host: entry.host ?? SERVER.host,
    port: entry.port ?? SERVER.port,
    dashboardUrl,
    publicUrl,
    trustedProxies: (entry.trusted_proxies ?? []).map((text, index) => {
      const range = rangeOf(text)
      if (range === undefined)
        problems.push({
          path: `server.trusted_proxies[${index}]`,
          message: `expected an address or a range, such as "10.0.0.0/8", found ${describe(text)}`,
        })
      return range ?? text
    }),
    drainDelayMs: entry.drain_delay_ms ?? ((entry.trusted_proxies ?? []).length > 0 ? DRAIN_DELAY_MS : 0),
    corsOrigins: (entry.cors_origins ?? ['*']).map((text, index) => {
      if (text !== '*' && !isOrigin(text))
        problems.push({
          path: `server.cors_origins[${index}]`,
          message: `expected an origin without a path, such as "https://chat.example.com", or "*", found ${describe(text)}`,
        })
      return text
    }),
  }
}

/** `table`: the table in which the address stands. Undefined: the table has no address, or a wrong one. */
export function makePublicUrl(table: string, text: string | undefined, problems: ConfigProblem[]): string | undefined {
  const origin = text === undefined ? undefined : originOf(text)
  if (text !== undefined && origin === undefined)
    problems.push({
      path: `${table}.public_url`,
      message: `expected an http or https address without a path, such as "https://api.example.com", found ${describe(text)}`,
    })
  return origin
}

const isHttpUrl = (text: string): boolean => httpUrlOf(text) !== undefined

function httpUrlOf(text: string): URL | undefined {
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : undefined
}

/** The origin, when the address has nothing else: no route begins with a path of the operator's, so an address with a path would lead nowhere. */
function originOf(text: string): string | undefined {
  const url = httpUrlOf(text)
  return url !== undefined && url.href === `${url.origin}/` ? url.origin : undefined
}

/** Whether a text is an origin as browsers send it: in lower case and without a path; extensions have schemes of their own. */
const isOrigin = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.:[\]_-]+$/.test(text)

/** An address or a CIDR as a CIDR; undefined when it is neither. Shortened IPv4 forms ("10.1") are not accepted. */
function rangeOf(text: string): string | undefined {
  const [address = '', bits] = text.split('/')
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return undefined
  if (bits === undefined) return `${address}/${address.includes(':') ? 128 : 32}`
  return ipaddr.isValidCIDR(text) ? text : undefined
}
