/** The rates of plans and keys over all nodes, on Postgres (db/postgres/migrations/0006_rates.sql). Rules: keys.md "Rates over nodes". */

import { NO_AMOUNTS } from '../../core/token-buckets.ts'
import type { Patience } from '../admission/patience.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { RateAnswer, RateAsk, RateCorrection, RateOwner, RateStanding, SharedRates } from '../shared-rates.ts'
import { type Session, SessionFailure } from './session.ts'

type Row = Readonly<{ is_admitted: boolean; standings: string; live_nodes: bigint }>

type RatesOptions = Readonly<{
  session: Pick<Session, 'ask'>
  /** The node that counts; undefined: this process may not count now. */
  identity: () => NodeIdentity | undefined
  patience: Pick<Patience, 'isOver' | 'whileHeard'>
}>

export class PostgresRates implements SharedRates {
  readonly #options: RatesOptions
  #lastNumber = 0
  /** The number of the last corrections that were sent. */
  #lastCorrected = 0

  constructor(options: RatesOptions) {
    this.#options = options
  }

  take(ask: RateAsk): Promise<RateAnswer | 'unavailable'> {
    return this.#whileHeard(() => this.#take(ask))
  }

  /**
   * In one order for all nodes, so that no two wait for each other. What was sent and not answered may have been counted: again only what runs is said. What the server refused
   * was not counted, and is said again; a refusal that comes behind a later correction says nothing of that one.
   */
  correct(corrections: readonly RateCorrection[], number: number): Promise<'done' | 'unavailable'> {
    const ordered = corrections.toSorted((a, b) => (a.owner.name < b.owner.name ? -1 : 1))
    return this.#whileHeard(async () => {
      if (this.#options.identity() === undefined) return 'unavailable'
      const isSent = number <= this.#lastCorrected
      const text = JSON.stringify(ordered.map(({ owner, amounts }) => ({ ...textOfOwner(owner), ...(isSent ? NO_AMOUNTS : amounts) })))
      this.#lastCorrected = number
      const onRefused = (): void => {
        if (!isSent && this.#lastCorrected === number) this.#lastCorrected = number - 1
      }
      const rows = await this.#ask('SELECT correct_rates($1, $2, $3, $4)', [text], onRefused)
      return rows === 'unavailable' ? rows : 'done'
    })
  }

  async #take({ owners, wanted, slots }: RateAsk): Promise<RateAnswer | 'unavailable'> {
    const text = JSON.stringify(owners.map(textOfOwner))
    const rows = await this.#ask<Row>('SELECT * FROM take_rates($1, $2, $3, $4, $5, $6)', [text, wanted.inputTokens, slots])
    const row = rows === 'unavailable' ? undefined : rows[0]
    if (row === undefined) return 'unavailable'
    const standings = JSON.parse(row.standings) as readonly RateStanding[]
    return { isAdmitted: row.is_admitted, owners: standings, nodes: Math.max(1, Number(row.live_nodes)) }
  }

  #whileHeard<T>(asking: () => Promise<T | 'unavailable'>): Promise<T | 'unavailable'> {
    const { patience } = this.#options
    return patience.isOver ? Promise.resolve('unavailable') : patience.whileHeard(asking())
  }

  /** `onRefused`: called when the server says that it has undone the statement. */
  async #ask<Row>(
    text: string,
    given: readonly (string | number | null)[],
    onRefused: () => void = () => undefined,
  ): Promise<readonly Row[] | 'unavailable'> {
    const own = this.#options.identity()
    if (own === undefined) return 'unavailable'
    try {
      return await this.#options.session.ask<Row>(text, [own.lane, own.boot, ++this.#lastNumber, ...given])
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      if (isUndone(error)) onRefused()
      return 'unavailable'
    }
  }
}

/** A statement in a transaction of its own that fails is undone. Classes 08 and 57P: the connection ended, which says nothing of the statement. */
const isUndone = ({ sqlState }: SessionFailure): boolean => sqlState !== '' && !/^(?:08|57P)/.test(sqlState)

const textOfOwner = ({ name, limits, running }: RateOwner) => ({ name, ...limits, running })
