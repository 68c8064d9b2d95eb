/**
 * The addresses under which people reach a listener: links are built from them, and changes must come from them. Never what a request names as host. Rules:
 * pages.md "Origin".
 */

/** Where a person is signed in: the customers' pages or the operators'. */
export type Listener = 'cabinet' | 'console'

export type Origins = Readonly<{
  /** Links begin with it. */
  base: string
  /** Of requests that change something. */
  allowed: readonly string[]
  isHttps: boolean
  /** Passkeys belong to a host name; undefined where there is none. */
  passkeyHost: string | undefined
}>

/** `publicUrl`: an origin, as the operator knows it. `listening`: `http://HOST:PORT`. */
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
