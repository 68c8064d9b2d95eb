/**
 * The clients of a load, a process of its own on bare sockets: connections that each send a request, read its answer to the end, and send the next, until the
 * time is over. Figures are of a window after the warming up; every request that was begun is finished, so that the sums can be compared with the ledger's.
 * Takes jobs by IPC and answers each with what it saw.
 */

import type { Socket } from 'bun'
import { nowUs, sleep } from '../clock.ts'
import { quantile } from '../statistics.ts'
import { Answer } from './answer.ts'
import { type Cpu, cpuOf, NO_CPU, residentBytes, since } from './cpu.ts'
import { chatBody, type Plan } from './wire.ts'

/** Where a gateway takes chat requests. */
export type Target = Readonly<{ host: string; port: number; path: string; headers: Readonly<Record<string, string>> }>

export type Job = Readonly<{
  target: Target
  /** The answer that each request asks for; below, the size of its body. */
  plan: Plan
  bodyBytes: number
  /** Keys with which the clients come in turn, in place of the target's own. */
  bearers?: readonly string[]
  connections: number
  /** The time over which the connections begin, one after the other. */
  rampMs: number
  warmMs: number
  windowMs: number
  /** Whether the lag of each event is measured. */
  lags: boolean
  /** Processes whose CPU and memory are read, at both ends of the window. */
  watch: readonly number[]
  /** How long requests that were begun may take to end after the window. */
  drainMs: number
}>

/** Two quantiles in microseconds; NaN where nothing was seen. */
export type Quantiles = Readonly<{ p50: number; p99: number; count: number }>

export type Seen = Readonly<{
  /** Answers, and below events, in the window. */
  answers: number
  events: number
  seconds: number
  answer: Quantiles
  firstEvent: Quantiles
  lag: Quantiles
  cpu: Cpu
  residentBytes: number
  /** The counts of all requests, before, in and after the window. */
  total: Readonly<{ answers: number; events: number }>
  /** Answers with another status than 200, that broke off, or that had another number of events or no terminal event; `failure` is the first of them in words. */
  failures: number
  failure: string
}>

type Client = { socket: Socket<Client> | undefined; answer: Answer; beganUs: number; sent: number; busy: boolean; request: Buffer }

const quantiles = (values: readonly number[]): Quantiles => {
  const sorted = Float64Array.from(values).sort()
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), count: sorted.length }
}

function requestTo({ host, port, path, headers }: Target, body: string): Buffer {
  const lines = Object.entries({ host: `${host}:${port}`, 'content-type': 'application/json', ...headers, 'content-length': body.length })
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
}

class Load {
  readonly #job: Job
  readonly #requests: readonly Buffer[]
  #asked = 0
  readonly #clients: Client[] = []
  readonly #answerUs: number[] = []
  readonly #firstUs: number[] = []
  readonly #lagUs: number[] = []
  #inWindow = false
  #isOver = false
  #answers = 0
  /** The events of answers that have ended. */
  #events = 0
  #failures = 0
  #failure = ''
  readonly #onLag: ((us: number) => void) | undefined

  constructor(job: Job) {
    this.#job = job
    const { target, plan, bodyBytes, bearers = [] } = job
    const body = chatBody(plan, bodyBytes)
    const others = bearers.map((key) => requestTo({ ...target, headers: { authorization: `Bearer ${key}` } }, body))
    this.#requests = others.length > 0 ? others : [requestTo(target, body)]
    this.#onLag = job.lags ? (us) => void (this.#inWindow && this.#lagUs.push(us)) : undefined
  }

  async run(): Promise<Seen> {
    const { watch, warmMs, windowMs, drainMs } = this.#job
    await this.#begin()
    await sleep(warmMs)
    const before = watch.length > 0 ? cpuOf(watch) : NO_CPU
    const [fromUs, answersBefore, eventsBefore] = [nowUs(), this.#answers, this.#eventsSoFar()]
    this.#inWindow = true
    await sleep(windowMs)
    this.#inWindow = false
    this.#isOver = true
    const cpu = watch.length > 0 ? since(cpuOf(watch), before) : NO_CPU
    const resident = residentBytes(watch)
    const [answers, events, seconds] = [this.#answers - answersBefore, this.#eventsSoFar() - eventsBefore, (nowUs() - fromUs) / 1e6]
    await this.#drain(drainMs)
    return {
      answers,
      events,
      seconds,
      answer: quantiles(this.#answerUs),
      firstEvent: quantiles(this.#firstUs),
      lag: quantiles(this.#lagUs),
      cpu,
      residentBytes: resident,
      total: { answers: this.#answers, events: this.#events },
      failures: this.#failures,
      failure: this.#failure,
    }
  }

  async #begin(): Promise<void> {
    const { connections, rampMs } = this.#job
    const began = nowUs()
    for (let number = 0; number < connections; number++) {
      const waitMs = (rampMs * number) / connections - (nowUs() - began) / 1000
      if (waitMs >= 1) await sleep(waitMs)
      await this.#connect()
    }
  }

  async #connect(): Promise<void> {
    const client: Client = { socket: undefined, answer: new Answer(), beganUs: 0, sent: 0, busy: false, request: Buffer.alloc(0) }
    this.#clients.push(client)
    await Bun.connect<Client>({
      hostname: this.#job.target.host,
      port: this.#job.target.port,
      data: client,
      socket: {
        open: (socket) => {
          client.socket = socket
          socket.setNoDelay(true)
          this.#ask(client)
        },
        data: (_, bytes) => this.#read(client, bytes),
        drain: () => this.#write(client),
        close: () => this.#gone(client),
        error: (_, error) => this.#fail(String(error)),
      },
    })
  }

  #ask(client: Client): void {
    client.answer.begin()
    client.request = this.#requests[this.#asked++ % this.#requests.length] ?? client.request
    client.busy = true
    client.beganUs = nowUs()
    client.sent = 0
    this.#write(client)
  }

  #write(client: Client): void {
    const left = client.request.length - client.sent
    if (left > 0) client.sent += Math.max(0, client.socket?.write(client.request, client.sent, left) ?? 0)
  }

  #read(client: Client, bytes: Buffer): void {
    const { answer } = client
    if (!client.busy) this.#fail('bytes behind the end of an answer')
    if (!client.busy || answer.read(bytes, this.#onLag) === 'more') return
    client.busy = false
    this.#answers++
    this.#events += answer.events
    const { plan } = this.#job
    if (answer.status !== '200' || answer.events !== plan.events || (plan.events > 0 && !answer.isComplete))
      this.#fail(`${answer.status} with ${answer.events} events: ${bytes.toString('latin1', Math.max(0, bytes.length - 400))}`)
    if (this.#inWindow) {
      this.#answerUs.push(nowUs() - client.beganUs)
      if (answer.firstEventUs > 0) this.#firstUs.push(answer.firstEventUs - client.beganUs)
    }
    if (!this.#isOver) this.#ask(client)
  }

  #gone(client: Client): void {
    client.socket = undefined
    if (client.busy) this.#fail('the connection was closed inside an answer')
    client.busy = false
  }

  #fail(why: string): void {
    if (this.#failures++ === 0) this.#failure = why
  }

  #eventsSoFar(): number {
    return this.#clients.reduce((sum, { busy, answer }) => (busy ? sum + answer.events : sum), this.#events)
  }

  async #drain(drainMs: number): Promise<void> {
    for (const until = nowUs() + drainMs * 1000; this.#clients.some(({ busy }) => busy); await sleep(5)) {
      if (nowUs() < until) continue
      this.#fail(`${this.#clients.filter(({ busy }) => busy).length} answers had not ended after ${drainMs} ms`)
      break
    }
    for (const { socket } of this.#clients) socket?.end()
  }
}

process.on('message', (job: Job) => {
  new Load(job)
    .run()
    .catch((error: unknown) => ({ crash: String(error) }))
    .then((seen) => process.send?.(seen))
    .catch(() => process.exit(1))
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
