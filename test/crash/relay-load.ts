/** Clients of `serve --processes N` that ask one after another, and what the books must say of what they saw. */

import { expect } from 'bun:test'
import { openDatabase } from '../../db/open.ts'
import { ZERO } from '../../src/core/money.ts'
import { receiptsIn } from '../support/gateway.ts'
import type { GatewayProcess, Place } from './process.ts'

export type Line = Readonly<{ notice?: string; alarm?: string; fault?: string; process?: number; pid?: number; operator_url?: string }>
export const linesOf = (gateway: GatewayProcess): readonly Line[] =>
  gateway
    .err()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)
export const pidOf = (gateway: GatewayProcess, index: number): number =>
  linesOf(gateway).findLast(({ notice, process: number }) => notice === 'a process begins' && number === index)?.pid ?? 0

/** Whether any money is held, by what the command says. */
export const isHolding = async (place: Place): Promise<boolean> => (await place.json<{ data: unknown[] }>('holds', 'list')).data.length > 0

const bodyOf = (tokens: number): string =>
  JSON.stringify({
    ...{ model: 'claude-sonnet-5-5', max_tokens: 500, stream: true },
    messages: [{ role: 'user', content: `[sim tokens=${tokens} speed=200]` }],
  })

/** Clients that ask one after another, on connections that come and go. `whole`: request ids of answers that were seen to their end. */
export class Load {
  readonly whole = new Set<string>()
  readonly refused: number[] = []
  /** Asked without an answer, or with one that was cut. */
  broken = 0
  /** Answers that began and had no end. */
  cut = 0
  isOver = false
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  async run(width: number): Promise<void> {
    const client = async (number: number): Promise<void> => {
      while (!this.isOver) {
        const asked = await this.#ask(20 + (number % 5) * 20)
        if (asked !== 200) await Bun.sleep(20)
      }
    }
    await Promise.all(Array.from({ length: width }, (_, number) => client(number)))
  }

  async #ask(tokens: number): Promise<number> {
    let hasBegun = false
    try {
      const response = await fetch(`${this.#url}/v1/messages`, {
        ...{ method: 'POST', body: bodyOf(tokens), keepalive: false },
        headers: { authorization: `Bearer ${this.#key}`, connection: 'close' },
      })
      hasBegun = response.status === 200
      const text = await response.text()
      if (response.status !== 200) this.refused.push(response.status)
      else if (text.includes('event: message_stop')) this.whole.add(response.headers.get('request-id') ?? '')
      else this.#breaks(hasBegun)
      return response.status
    } catch {
      this.#breaks(hasBegun)
      return 0
    }
  }

  #breaks(hasBegun: boolean): void {
    this.broken++
    if (hasBegun) this.cut++
  }
}

export function expectBooked({ ledgerPath }: Place, seen: ReadonlySet<string>): void {
  const db = openDatabase(ledgerPath, 'read')
  if ('problem' in db) throw new Error(db.message)
  try {
    const rows = receiptsIn(db)
    const byId = new Map(rows.map((row) => [row.requestId, row]))
    expect(byId.size).toBe(rows.length)
    const unpaid = [...seen].filter((id) => byId.get(id)?.outcome !== 'complete' || (byId.get(id)?.costPicos ?? ZERO) === ZERO)
    expect(unpaid.map((id) => [id, byId.get(id)?.outcome])).toEqual([])
    for (const { outcome, costPicos } of rows) if (outcome === 'recovered') expect(costPicos).toBe(ZERO)
  } finally {
    db.close()
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
