/**
 * Mail to people, over the SMTP server that the operator names: plain text, one receiver each. nodemailer is loaded with the first mail. Nothing here throws: the log
 * gets a word for what went wrong, never the server's text. Rules: pages.md "Mail".
 */

import type { Transporter } from 'nodemailer'

export type Mail = Readonly<{
  to: string
  subject: string
  text: string
}>

export type MailOptions = Readonly<{
  /** `smtp://` or `smtps://`, with user and password. */
  url: string
  from: string
  timeoutMs?: number
  /** Default: loads nodemailer. */
  load?: () => Promise<Pick<typeof import('nodemailer'), 'createTransport'>>
}>

const TIMEOUT_MS = 10_000
const AT_ONCE_MAX = 4
/** The most mails in memory, including those that wait for a connection. */
const UNDER_WAY_MAX = 500

export class Mailer {
  readonly #options: MailOptions
  #transport: Promise<Transporter> | undefined
  #underWay = 0

  constructor(options: MailOptions) {
    this.#options = options
  }

  /** Null: the server took the mail. Otherwise a word for what went wrong. */
  async send({ to, subject, text }: Mail): Promise<string | null> {
    if (this.#underWay >= UNDER_WAY_MAX) return 'too many'
    this.#underWay++
    try {
      const transport = await this.#connected()
      // nodemailer takes an address that is an object as one address, even with a comma in it.
      await transport.sendMail({ from: this.#options.from, to: { name: '', address: to }, subject, text })
      return null
    } catch (error) {
      return problemOf(error)
    } finally {
      this.#underWay--
    }
  }

  /** A failed load is tried again by the next mail. */
  async #connected(): Promise<Transporter> {
    this.#transport ??= connect(this.#options)
    const connecting = this.#transport
    try {
      return await connecting
    } catch (error) {
      if (this.#transport === connecting) this.#transport = undefined
      throw error
    }
  }

  close(): void {
    this.#transport?.then((transport) => transport.close()).catch(() => undefined)
    this.#transport = undefined
  }
}

const loadPackage: NonNullable<MailOptions['load']> = () => import('nodemailer')

async function connect({ url, timeoutMs = TIMEOUT_MS, load = loadPackage }: MailOptions): Promise<Transporter> {
  const { createTransport } = await load()
  return createTransport({
    url,
    pool: true,
    maxConnections: AT_ONCE_MAX,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** `smtp 550`, or the library's own word, such as `etimedout`. */
function problemOf(error: unknown): string {
  const { responseCode, code } = (error ?? {}) as { responseCode?: unknown; code?: unknown }
  if (typeof responseCode === 'number') return `smtp ${responseCode}`
  return typeof code === 'string' && /^[A-Z_]{1,30}$/.test(code) ? code.toLowerCase() : 'mail'
}
