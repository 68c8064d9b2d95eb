/**
 * The addresses under which people reach a listener: links are built from them, and changes must come from them. A host that a request names is never one of them.
 * Rules: pages.md "Origin".
 */

/** Where a person is signed in: the customers' pages or the operators'. */
export type Listener = 'cabinet' | 'console'

export type Origins = Readonly<{
  /** The beginning of links. */
  base: string
  /** The origins from which a request may change something. */
  allowed: readonly string[]
  isHttps: boolean
  /** The host name to which passkeys belong; undefined where there is none. */
  passkeyHost: string | undefined
}>

/** `publicUrl`: the origin that the operator has set. `listening`: `http://HOST:PORT`. */
export function originsOf(publicUrl: string | undefined, listening: string): Origins {
  const { port, hostname } = new URL(listening)
  const local = `http://localhost${port === '' ? '' : `:${port}`}`
  const base = publicUrl ?? (isThisMachine(hostname) ? local : listening)
  const { protocol, hostname: host } = new URL(base)
  return {
    base,
    allowed: publicUrl === undefined ? [...new Set([listening, local, local.replace('localhost', '127.0.0.1')])] : [publicUrl],
    isHttps: protocol === 'https:',
    passkeyHost: isAddress(host) ? undefined : host,
  }
}

const isThisMachine = (host: string): boolean => ['127.0.0.1', '0.0.0.0', '[::1]', '[::]', 'localhost'].includes(host)
const isAddress = (host: string): boolean => host.startsWith('[') || /^[\d.]+$/.test(host)
