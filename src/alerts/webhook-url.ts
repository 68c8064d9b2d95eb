/**
 * Reads the address of a webhook as its owner typed it, and decides whether it may be one at all. Where the name leads is checked at each delivery. Rules: pages.md
 * "Webhooks".
 */

import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

export type WebhookTarget = Readonly<{
  /** A name without its last dot, or an address, IPv6 without brackets. */
  host: string
  isAddress: boolean
  port: number
  isSecure: boolean
  /** `path` is for the request line, `authority` for the Host field. */
  path: string
  authority: string
}>

const LENGTH_MAX = 2_000

/** Gives the target, or what is wrong with the address, in words for its owner. Other spellings of an IP address (decimal, octal, hex) are read as browsers read them. */
export function readWebhookUrl(text: string, allowPrivate: boolean): WebhookTarget | string {
  const url = text.length > LENGTH_MAX ? null : URL.parse(text)
  if (url === null) return `Expected an address of at most ${LENGTH_MAX} characters, such as https://example.com/hook`
  const isSecure = url.protocol === 'https:'
  if (!isSecure && !(allowPrivate && url.protocol === 'http:')) return 'The address must begin with https://'
  if (url.username !== '' || url.password !== '') return 'The address must not hold a user or a password'
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const isAddress = isIP(host) !== 0
  if (host === '' || (!isAddress && !isName(host))) return 'The address needs a host name'
  if (isAddress && !allowPrivate && !isPublicAddress(host)) return 'The address must be a public one'
  const port = Number(url.port || (isSecure ? 443 : 80))
  if (port === 0) return 'The address needs a port above 0'
  return { host, isAddress, port, isSecure, path: `${url.pathname}${url.search}`, authority: url.host.replace(/\.(?=$|:)/, '') }
}

const isName = (host: string): boolean => host.length <= 253 && /^[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*$/.test(host)
