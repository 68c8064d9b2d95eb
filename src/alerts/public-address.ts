/**
 * Which addresses a customer may make us connect to. Rules: pages.md "Webhooks". Sources: the special-purpose registries of IANA
 * (https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry), as ipaddr.js knows them.
 */

import ipaddr from 'ipaddr.js'

/** Addresses that are public by their number, but answered by the cloud's own host: Azure's platform address. */
const OF_CLOUDS = new Set(['168.63.129.16'])
/** The only range that is routed on the Internet so far (https://www.iana.org/assignments/ipv6-unicast-address-assignments). */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** The range for examples (https://www.rfc-editor.org/rfc/rfc9637), which is younger than the library's list. */
const EXAMPLES_V6 = ipaddr.IPv6.parseCIDR('3fff::/20')
/** NAT64's own prefix (https://www.rfc-editor.org/rfc/rfc6052#section-2.1): the last four bytes are the IPv4 address that is really reached. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/** `own`: addresses of this machine's interfaces, which lead to this machine however public they are. */
export function isPublicAddress(text: string, own: ReadonlySet<string> = new Set()): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return false
  const address = ipaddr.process(text)
  if (own.has(address.toString())) return false
  if (address instanceof ipaddr.IPv4) return isPublicV4(address)
  if (address.match(NAT64)) {
    const inner = new ipaddr.IPv4(address.toByteArray().slice(12))
    return isPublicV4(inner) && !own.has(inner.toString())
  }
  return address.range() === 'unicast' && address.match(GLOBAL_V6) && !address.match(EXAMPLES_V6)
}

const isPublicV4 = (address: ipaddr.IPv4): boolean => address.range() === 'unicast' && !OF_CLOUDS.has(address.toString())
