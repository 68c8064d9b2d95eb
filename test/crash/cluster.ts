/** Gateways that share a ledger on Postgres, each a process in a folder of its own, whose connection to the database a test can sever. */

import { SQL } from 'bun'
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { type Answer, askIn, type Way } from './load.ts'
import { type GatewayProcess, Place } from './process.ts'

/** How long a node that is not heard of keeps what it holds: short, so that a test sees another take over. */
export const LEASE_MS = 2_000

export type Node = {
  readonly name: string
  readonly place: Place
  readonly proxy: TcpProxy
  /** Undefined while it is dead. */
  gateway: GatewayProcess | undefined
}

export class Cluster {
  readonly nodes: readonly Node[]
  readonly #sql: SQL

  private constructor(databaseUrl: string, nodes: readonly Node[]) {
    this.#sql = new SQL({ url: databaseUrl, max: 1, bigint: true, connection: { search_path: 'ledger' } })
    this.nodes = nodes
  }

  /** `databaseUrl`: of an empty database. */
  static async make(databaseUrl: string, upstreamUrl: string, names: readonly string[]): Promise<Cluster> {
    const nodes = names.map(async (name): Promise<Node> => {
      const url = new URL(databaseUrl)
      const proxy = await tcpProxy(Number(url.port))
      url.port = `${proxy.port}`
      const place = new Place(undefined, { ...UPSTREAM_ENV, LEDGER_URL: url.href })
      const more = `[ledger]\nurl_env = "LEDGER_URL"\nnode = "${name}"\nlease_ms = ${LEASE_MS}\n`
      place.write('tollgate.toml', configurationOf({ upstreamUrl, more, drainMs: 10_000 }))
      return { name, place, proxy, gateway: undefined }
    })
    return new Cluster(databaseUrl, await Promise.all(nodes))
  }

  get first(): Place {
    const [node] = this.nodes
    if (node === undefined) throw new Error('a cluster without nodes')
    return node.place
  }

  /** Starts those that are not running. */
  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.startNode(node)))
  }

  async startNode(node: Node): Promise<void> {
    node.gateway ??= await node.place.serve()
  }

  async kill(node: Node): Promise<void> {
    node.gateway?.signal('SIGKILL')
    await node.gateway?.exited
    node.gateway = undefined
  }

  /** Rows of the ledger as Postgres gives them. */
  rows<Row>(text: string): Promise<readonly Row[]> {
    return this.#sql.unsafe(text).then((rows: Row[]) => [...rows])
  }

  /** Until what dead nodes left has been taken over: nothing is in flight, so no checkpoint is left. */
  async untilTakenOver(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs
    for (;;) {
      const [left] = await this.rows<{ count: bigint }>('SELECT count(*) AS count FROM marks')
      if (left?.count === 0n) return
      if (performance.now() > untilMs) throw new Error(`${left?.count} marks are left`)
      await Bun.sleep(100)
    }
  }

  async remove(): Promise<void> {
    for (const { proxy } of this.nodes) proxy.heal()
    await Promise.all(this.nodes.map(({ place }) => place.remove()))
    for (const { proxy } of this.nodes) proxy.close()
    await this.#sql.close()
  }
}

/** What a client does not see whole while nodes die: no connection, a refusal that may be tried again, an error at the end of a stream. */
const PASSING = /: (429|502|503|504) |: ended without its end/

/** Asks one node again and again. `onRefused`: words of a refusal; it ends the asking where it says so. */
export async function askNode(
  node: Node,
  secret: string,
  ways: readonly Way[],
  isOver: () => boolean,
  onRefused: (words: string) => void = () => undefined,
): Promise<readonly Answer[]> {
  const seen: Answer[] = []
  for (let turn = 0; !isOver(); turn++) {
    const url = node.gateway?.url
    const answer = url === undefined ? undefined : await askOnce(ways[turn % ways.length] ?? 'chat', url, secret, onRefused)
    if (answer === undefined) await Bun.sleep(50)
    else seen.push(answer)
  }
  return seen
}

async function askOnce(way: Way, url: string, secret: string, onRefused: (words: string) => void): Promise<Answer | undefined> {
  try {
    return await askIn(way, url, secret)
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    if (!PASSING.test(words)) throw error
    onRefused(words)
    return undefined
  }
}
