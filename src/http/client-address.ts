/**
 * The address of a client as limits count it, as far as it can be trusted. It is parsed by ipaddr.js, so it lives here and not in core. Rules: keys.md
 * "Client addresses".
 */

import type { Server } from 'bun'
import ipaddr from 'ipaddr.js'
import type { World } from '../world.ts'

type Address = ReturnType<typeof ipaddr.process>

/**
 * The client of a request. The socket is asked only where the address may be needed, and a limit's key is computed only where a limit asks: most requests have a key,
 * and to parse an address takes as long as to find the key. `server` is null where there is no socket: under `app.handle`.
 */
export class Client {
  readonly #world: Pick<World, 'trustedProxies'>
  readonly #request: Request
  readonly #server: Server<unknown> | null
  #socketAddress: string | undefined
  #ip: string | undefined

  constructor(world: Pick<World, 'trustedProxies'>, request: Request, server: Server<unknown> | null) {
    this.#world = world
    this.#request = request
    this.#server = server
  }

  /** Asks the socket in the turn in which the request came. Later the socket may be closed, and the address would be unknown. */
  look(): void {
    this.#socketAddress ??= this.#server?.requestIP(this.#request)?.address ?? ''
  }

  /** The name under which limits count the client. */
  get ip(): string {
    this.look()
    this.#ip ??= clientAddress(this.#socketAddress ?? '', this.#request.headers.get('x-forwarded-for'), this.#world.trustedProxies())
    return this.#ip
  }
}

/**
 * The socket's address, unless it is a trusted proxy's: then `x-forwarded-for` is read from the right, past every trusted proxy, to the first address that is none of
 * theirs. Entries further left are the client's own claims and are never looked at. A malformed entry ends the walk at the proxy that wrote it. `trustedProxies`:
 * addresses and CIDR ranges. An IPv6 address comes back as its /64, an IPv4-mapped one as IPv4, an unreadable socket address as 'unknown'.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | null, trustedProxies: readonly string[]): string {
  let trusted = read(socketAddress)
  if (trusted === undefined) return 'unknown'
  if (!isTrusted(trusted, trustedProxies)) return limiterKey(trusted)
  for (const entry of (forwardedFor ?? '').split(',').reverse()) {
    const address = read(withoutPort(entry.trim()))
    if (address === undefined) return limiterKey(trusted)
    if (!isTrusted(address, trustedProxies)) return limiterKey(address)
    trusted = address
  }
  return limiterKey(trusted)
}

/** Takes only the usual spellings: ipaddr.js alone would also take `1` or `0x7f.1` for an address. */
const read = (text: string): Address | undefined =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : undefined

function isTrusted(address: Address, trustedProxies: readonly string[]): boolean {
  return trustedProxies.some((range) => {
    const [network, bits] = rangeOf(range)
    return network.kind() === address.kind() && address.match(network, bits)
  })
}

/** A single address is a range of one. The configuration has checked the spelling. */
function rangeOf(range: string): [Address, number] {
  if (range.includes('/')) return ipaddr.parseCIDR(range)
  const address = ipaddr.process(range)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const withoutPort = (entry: string): string => /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry

function limiterKey(address: Address): string {
  if (address.kind() === 'ipv4') return address.toString()
  const network = new ipaddr.IPv6([...(address as ipaddr.IPv6).parts.slice(0, 4), 0, 0, 0, 0])
  return `${network.toString()}/64`
}
