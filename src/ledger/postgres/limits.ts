/** The limits of keys over all nodes, on Postgres (db/postgres/migrations/0002_limits.sql). Rules: keys.md "Limits over nodes". */

import type { Patience } from '../admission/patience.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { LimitAsk, LimitGrant, SharedLimits } from '../shared-limits.ts'
import { type Session, SessionFailure } from './session.ts'

type Row = Readonly<{ requests: bigint; granted_places: bigint | null; wait_ms: bigint; live_nodes: bigint }>

export class PostgresLimits implements SharedLimits {
  readonly #session: Pick<Session, 'ask' | 'close'>
  readonly #identity: () => NodeIdentity | undefined
  readonly #patience: Pick<Patience, 'isOver' | 'whileHeard'>
  #lastNumber = 0

  /** `identity`: the node that takes a part of the limits; undefined: this process may not take any now. */
  constructor(
    session: Pick<Session, 'ask' | 'close'>,
    identity: () => NodeIdentity | undefined,
    patience: Pick<Patience, 'isOver' | 'whileHeard'>,
  ) {
    this.#session = session
    this.#identity = identity
    this.#patience = patience
  }

  close(): void {
    this.#session.close()
  }

  take(asked: LimitAsk): Promise<LimitGrant | 'unavailable'> {
    return this.#patience.isOver ? Promise.resolve('unavailable') : this.#patience.whileHeard(this.#take(asked))
  }

  async #take({ keyId, requests, places, perMinute, atOnce }: LimitAsk): Promise<LimitGrant | 'unavailable'> {
    const own = this.#identity()
    if (own === undefined) return 'unavailable'
    const number = ++this.#lastNumber
    try {
      const [row] = await this.#session.ask<Row>('SELECT * FROM take_limits($1, $2, $3, $4, $5, $6, $7, $8)', [
        own.lane,
        own.boot,
        number,
        keyId,
        requests,
        places,
        perMinute,
        atOnce,
      ])
      if (row === undefined) return 'unavailable'
      const { requests: taken, granted_places: granted, wait_ms: waitMs, live_nodes: nodes } = row
      return { requests: Number(taken), places: Number(granted ?? 0n), waitMs: Number(waitMs), nodes: Math.max(1, Number(nodes)) }
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      return 'unavailable'
    }
  }
}
