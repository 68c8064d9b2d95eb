/**
 * Clients of a simulated world: they ask a relay under an Idempotency-Key, read fast or slowly, and leave. What each must see of its answer is looked at as it comes. Rules: requests.md
 * "Repeated requests", "Joined answers".
 */

import { messagesFormat } from '../../src/core/formats/messages/format.ts'
import { OPENING } from '../../src/relay/stream-head.ts'
import type { RelayOfGateway } from '../../src/relay-of-gateway.ts'
import { must } from './books.ts'
import { pick } from './draw.ts'
import { type DirectSource, ServedStreams } from './served-streams.ts'
import { guard, type Host, type Parts, STREAM_KEY } from './stream-parts.ts'

const SECRET = `sk-${'of-streams-'.repeat(5)}`

/** Refusals of what no client here does: each has a key with money and asks for a small model that there is. And the status of a bug. */
const NEVER_GIVEN = new Set([401, 402, 403, 404, 413, 500])

export type Client = {
  /** The id that its relay gave its request. */
  id: string
  readonly name: string
  /** Whether its body differs from that of the other requests with this name. */
  readonly isOther: boolean
  readonly host: Host
  readonly leave: AbortController
  readonly isSlow: boolean
  /** waits: for its status · lost: its relay died. */
  state: 'waits' | 'reads' | 'whole' | 'broken' | 'refused' | 'left' | 'lost'
  status: number
  /** The id of the request whose answer it gets. */
  of: string
  isReplayed: boolean
  text: string
  source: DirectSource | undefined
  /** What the product waits for while a slow client has not taken what it was sent. */
  full: PromiseWithResolvers<void> | undefined
}

export type How = Readonly<{ isOther?: boolean; isSlow?: boolean }>

export class StreamClients {
  readonly all: Client[] = []
  readonly #parts: Parts
  readonly #served = new ServedStreams()
  /** The most that any client has got of each request's answer. */
  readonly #written = new Map<string, string>()
  #asking: Client | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get open(): readonly Client[] {
    return this.all.filter(isOpen)
  }

  restore(): void {
    this.#served.restore()
  }

  ask(host: Host, relay: RelayOfGateway['relay'] | undefined, name: string, { isOther = false, isSlow = false }: How): Client {
    const client: Client = {
      ...{ id: '', name, isOther, host, leave: new AbortController(), isSlow },
      ...{ state: 'waits', status: 0, of: '', isReplayed: false, text: '', source: undefined, full: undefined },
    }
    this.all.push(client)
    const connection = {
      ...{ client: { ip: 'a' }, origin: null, keepOpen: () => undefined, restore: () => undefined },
      drop: () => this.#gone(client, 'broken'),
    }
    this.#asking = client
    const answering = relay?.answer(messagesFormat, '/v1/messages', requestOf(client), STREAM_KEY, connection)
    this.#asking = undefined
    answering?.then((response) => this.#answered(client, response)).catch(this.#parts.fail)
    return client
  }

  idOfAsking(): string {
    const id = `req_stream_${this.all.length}`
    if (this.#asking !== undefined) this.#asking.id = id
    return id
  }

  /** The relay's clients see their connections break. */
  died(host: Host): void {
    for (const client of this.open) {
      if (client.host !== host) continue
      if (client.state === 'reads' && this.#isFollower(client)) this.#parts.meet('a relay dies whose clients follow another one')
      client.state = 'lost'
    }
  }

  leave(): void {
    const client = pick(
      this.#parts.random,
      this.open.filter(({ host }) => !host.isStopped),
    )
    if (client === undefined) return
    this.#parts.meet('a client leaves')
    this.#gone(client, 'left')
  }

  /** A slow client takes what it was sent. */
  drain(): void {
    const full = this.all.filter((client) => client.full !== undefined && client.host.isAlive && !client.host.isStopped)
    drained(pick(this.#parts.random, full))
  }

  drainAll(): void {
    for (const client of this.all) drained(client)
  }

  async #answered(client: Client, response: Response): Promise<void> {
    if (client.state !== 'waits') return
    const { status, headers, body } = response
    const { meet, log } = this.#parts
    client.status = status
    client.of = headers.get('request-id') ?? ''
    client.isReplayed = headers.get('idempotency-replayed') === 'true'
    log.push(`${client.id} of ${client.name} by ${client.host.pid} is answered: ${status} of ${client.of}`)
    const source = this.#served.sourceOf(body)
    if (source !== undefined) {
      client.state = 'reads'
      client.source = source
      source.pull(this.#controllerOf(client))
      return
    }
    const bytes = await response.bytes()
    if (status === 200) {
      this.#take(client, bytes)
      client.state = 'whole'
      meet(client.isReplayed ? 'a finished answer is given again' : 'an answer in one piece is given')
      return
    }
    client.text = Buffer.from(bytes).toString('latin1')
    client.state = 'refused'
    meet(client.isReplayed ? 'a repetition gets the error of the first request' : `a request is refused by ${status}`)
    must('a request fails by no bug', !NEVER_GIVEN.has(status), () => `${client.id}: ${client.text}`)
  }

  #controllerOf(client: Client): unknown {
    return {
      write: (bytes: Uint8Array): number | Promise<void> => {
        guard(this.#parts, () => this.#take(client, bytes))
        if (!client.isSlow) return bytes.byteLength
        client.full ??= Promise.withResolvers()
        return client.full.promise
      },
      flush: () => undefined,
      close: (error?: Error) => guard(this.#parts, () => this.#ended(client, error === undefined ? 'whole' : 'broken')),
    }
  }

  #take(client: Client, bytes: Uint8Array): void {
    if (!client.host.isAlive || !isOpen(client)) return
    const text = Buffer.from(bytes).toString('latin1')
    if (Buffer.compare(bytes, OPENING) === 0 || text.startsWith('event: ping\n')) {
      must('a heartbeat stands between two events', /(^|\n\n)$/.test(client.text), () => `${client.id}: ${client.text.slice(-80)}`)
      return
    }
    if (client.text === '' && this.#isFollower(client)) this.#parts.meet('a repetition follows a stream at another relay')
    const known = this.#written.get(client.of) ?? ''
    client.text += text
    const both = Math.min(known.length, client.text.length)
    const isSame = known.slice(0, both) === client.text.slice(0, both)
    must('all who get an answer get the same bytes', isSame, () => `${client.id} of ${client.of} at ${both}`)
    if (client.text.length > known.length) this.#written.set(client.of, client.text)
  }

  #ended(client: Client, how: 'whole' | 'broken'): void {
    if (!client.host.isAlive || !isOpen(client)) return
    client.state = how
    this.#parts.log.push(`${client.id} of ${client.of} is ${how} at ${client.text.length}`)
    if (this.#isFollower(client)) this.#parts.meet(`a stream that is followed at another relay is ${how}`)
    must('a stream that is closed has its end', how === 'broken' || isEnded(client.text), () => `${client.id}: ${client.text.slice(-80)}`)
  }

  #isFollower({ of, host, isReplayed }: Client): boolean {
    return isReplayed && this.all.some((first) => first.id === of && first.host !== host)
  }

  /** A client is gone, or its connection was closed. */
  #gone(client: Client, state: 'left' | 'broken'): void {
    if (!isOpen(client)) return
    const { source } = client
    client.state = state
    this.#parts.log.push(`${client.id} of ${client.of} ${state === 'left' ? 'leaves' : 'is dropped'} at ${client.text.length}`)
    client.leave.abort()
    source?.cancel()
  }
}

const isOpen = ({ state }: Client): boolean => state === 'waits' || state === 'reads'
const isEnded = (text: string): boolean => /event: (message_stop|error)\n.*\n\n$/.test(text)

function drained(client: Client | undefined): void {
  client?.full?.resolve()
  if (client !== undefined) client.full = undefined
}

function requestOf({ name, isOther, leave: { signal } }: Client): Request {
  const content = isOther ? `${name}?` : name
  const asked = { model: 'sonnet', max_tokens: 50, stream: name.startsWith('stream'), messages: [{ role: 'user', content }] }
  const body = JSON.stringify(asked)
  const type = { 'content-type': 'application/json', 'content-length': String(body.length) }
  const headers = { 'x-api-key': SECRET, 'idempotency-key': name, ...type }
  return new Request('http://gateway/v1/messages', { method: 'POST', headers, body, signal })
}
