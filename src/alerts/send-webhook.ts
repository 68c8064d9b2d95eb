/**
 * Delivers one message to a webhook: resolves the host name, checks every address, and connects to a checked one; TLS verifies the certificate against the
 * host name. `sendWebhook` never rejects: `problem` is one of a fixed set of words, such as `timeout` or `status 500`, never text of the receiver. Rules:
 * pages.md "Webhooks".
 */

import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import type { Connection } from '../upstream/connection.ts'
import { Http1Call } from '../upstream/http1-call.ts'
import { requestBytes, requestHead } from '../upstream/http1-request.ts'
import { openConnection } from '../upstream/open-connection.ts'
import type { BodySource } from '../upstream/upstream.ts'
import { isPublicAddress } from './public-address.ts'
import { signatureOf } from './webhook-signature.ts'
import { readWebhookUrl, type WebhookTarget } from './webhook-url.ts'

export type WebhookMessage = Readonly<{
  url: string
  secret: string
  /** The delivery's id; every try sends the same one. */
  id: string
  body: string
}>

/** `status` is null when no answer came. `problem` is null when the receiver answered 2xx. */
export type Delivered = Readonly<{ status: number | null; problem: string | null }>

export type SendOptions = Readonly<{
  allowPrivate: boolean
  /** Gives all addresses of a name; rejects where there are none. Default: this machine's resolver. */
  resolve?: (name: string) => Promise<readonly string[]>
  /** The network interfaces of this machine; default: `os.networkInterfaces`. Their addresses are refused even when they are public. */
  interfaces?: typeof networkInterfaces
  /** Whether a delivery may connect to the address. Default: a public address that is not this machine's own; with `allowPrivate`, any address. */
  mayConnectTo?: (address: string) => boolean
  /** The time from the look-up to the end of the answer. Default 10 s. */
  timeoutMs?: number
  now?: () => number
  /** PEM of the authorities to trust instead of the machine's. */
  ca?: string
}>

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 4_096
/** How many addresses of one name are tried, one after the other, until one connects or the time is over. */
const ADDRESSES_MAX = 4
const NOT_PUBLIC = 'no public address'
const ENCODER = new TextEncoder()

export async function sendWebhook(message: WebhookMessage, options: SendOptions): Promise<Delivered> {
  const target = readWebhookUrl(message.url, options.allowPrivate)
  if (typeof target === 'string') return failed('address')
  const limit = timeLimit(options.timeoutMs ?? TIMEOUT_MS)
  try {
    const addresses = await addressesOf(target, options, limit)
    if (typeof addresses === 'string') return failed(addresses)
    const connection = await connect(target, addresses, options, limit)
    if (typeof connection === 'string') return failed(connection)
    return await exchange(connection, bytesOf(message, target, options.now ?? Date.now), limit)
  } finally {
    limit.clear()
  }
}

const failed = (problem: string): Delivered => ({ status: null, problem })

type Limit = Readonly<{ late: Promise<'timeout'>; leftMs: () => number; clear: () => void }>

function timeLimit(ms: number): Limit {
  const endMs = performance.now() + ms
  const { promise, resolve } = Promise.withResolvers<'timeout'>()
  const timer = setTimeout(resolve, ms, 'timeout')
  return { late: promise, leftMs: () => Math.max(1, Math.ceil(endMs - performance.now())), clear: () => clearTimeout(timer) }
}

/** The allowed addresses; IPv4 first, because more machines have it. One address that is not allowed refuses the name. */
async function addressesOf(
  target: WebhookTarget,
  { resolve = lookUp, ...options }: SendOptions,
  limit: Limit,
): Promise<readonly string[] | string> {
  const found = target.isAddress ? [target.host] : await Promise.race([resolve(target.host).catch(() => []), limit.late])
  if (typeof found === 'string') return found
  // An unknown name and a private address give the same word; otherwise a customer could find out which names the internal network has.
  if (found.length === 0 || !found.every(options.mayConnectTo ?? ruleFor(options))) return options.allowPrivate ? 'dns' : NOT_PUBLIC
  return found.toSorted((a, b) => Number(a.includes(':')) - Number(b.includes(':'))).slice(0, ADDRESSES_MAX)
}

/** Asks name servers directly. The system's resolver has few threads, and names whose servers never answer would fill them. */
const lookUp = async (name: string): Promise<readonly string[]> =>
  (await Bun.dns.lookup(name, { backend: 'c-ares' })).map(({ address }) => address)

function ruleFor({ allowPrivate, interfaces = networkInterfaces }: SendOptions): (address: string) => boolean {
  if (allowPrivate) return () => true
  const own = addressesIn(interfaces())
  return (address) => isPublicAddress(address, own)
}

function addressesIn(interfaces: ReturnType<typeof networkInterfaces>): ReadonlySet<string> {
  const all = Object.values(interfaces).flatMap((one) => one ?? [])
  return new Set(
    all
      .map(({ address }) => address)
      .filter((text) => ipaddr.isValid(text))
      .map((text) => ipaddr.process(text).toString()),
  )
}

async function connect(
  { host, isAddress, port, isSecure }: WebhookTarget,
  addresses: readonly string[],
  { ca }: SendOptions,
  limit: Limit,
): Promise<Connection | string> {
  let cause = 'connect'
  for (const address of addresses) {
    const serverName = isAddress ? {} : { serverName: host }
    const opened = await openConnection({ host: address, port, isSecure, ca, ...serverName }, limit.leftMs()).result
    if (typeof opened !== 'string') return opened
    cause = opened === 'connect timeout' ? 'timeout' : opened
    if (cause === 'timeout') break
  }
  return cause
}

function bytesOf({ id, secret, body }: WebhookMessage, { path, authority }: WebhookTarget, now: () => number): readonly Uint8Array[] {
  const timestampSeconds = Math.floor(now() / 1_000)
  const head = requestHead(path, authority, {
    'content-type': 'application/json',
    'user-agent': 'Tollgate-Webhooks',
    'accept-encoding': 'identity',
    connection: 'close',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatureOf({ secret, id, timestampSeconds, body }),
  })
  return head === undefined ? [] : requestBytes(head, [ENCODER.encode(body)])
}

/** Only the status counts. The body is read up to 4 KiB, so that a short body ends in order; a longer one is cancelled. */
function exchange(connection: Connection, bytes: readonly Uint8Array[], limit: Limit): Promise<Delivered> {
  const { promise, resolve } = Promise.withResolvers<Delivered>()
  let answered: Delivered | undefined
  let readBytes = 0
  const call = new Http1Call(connection, bytes, {
    head({ status }, source: BodySource) {
      answered = { status, problem: status >= 200 && status < 300 ? null : `status ${status}` }
      return {
        data(piece) {
          readBytes += piece.length
          if (readBytes > ANSWER_BYTES_MAX) source.cancel()
        },
        end: () => undefined,
        broken: () => undefined,
      }
    },
    failed: (cause) => resolve(failed(cause === 'aborted' ? 'timeout' : cause)),
    over(kept) {
      kept?.end()
      if (answered !== undefined) resolve(answered)
    },
  })
  limit.late.then(() => call.abort()).catch(() => undefined)
  return promise
}
