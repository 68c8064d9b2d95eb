/**
 * The history of all nodes in the database of a shared ledger, in a schema of its own, over the connections of the pages. A reader goes through the rows in small parts, so
 * that no request waits behind a chart. Rules: pages.md "History".
 */

import type { AccountRow } from '../core/history/bounded-counts.ts'
import { type HistoryAsked, type HistoryFound, keptSince, type TrafficRead, writerSeen } from '../core/history/kept.ts'
import type { MomentRows, Writer } from '../core/history/moment.ts'
import { HistorySeries } from '../core/history/series.ts'
import { secondsOf, type TrafficAsked, TrafficSums } from '../core/history/traffic.ts'
import tables from './postgres-history.sql' with { type: 'text' }
import type { HistoryEvent, HistoryStore } from './store.ts'

/** Rejects where the database does not answer. `given`: values by their names, which the text writes as `$name`. */
export type Ask = (text: string, given?: Readonly<Record<string, string | number>>) => Promise<Readonly<{ rows: readonly unknown[] }>>

type Options = Readonly<{ ask: Ask; now: () => number; onEvent: (event: HistoryEvent) => void }>

/** The work of some hundred rows takes about a millisecond. */
const ROWS_AT_ONCE = 200
const PRUNE_MS = 10 * 60_000

type CellOfBase = Readonly<{
  at: number
  writer: string
  model: string
  upstream: string
  requests: number
  refusals: string
  spread: string
  lasting: string
}>
type WriterRow = Parameters<typeof writerSeen>[0]

export class PostgresHistory implements HistoryStore {
  readonly #options: Options
  #making: Promise<unknown> | undefined
  #prunedAt = 0

  constructor(options: Options) {
    this.#options = options
  }

  write(writer: Writer, moments: readonly MomentRows[], isWhole: boolean): Promise<boolean> {
    const { ask, now } = this.#options
    return this.#answering(false, async () => {
      await ask(WRITER, { writer: writer.name, began: writer.beganAt, now: Math.floor(now() / 1_000), whole: isWhole ? 1 : 0 })
      for (const moment of moments) await this.#replace(moment)
      await this.#prune()
      return true
    })
  }

  read({ span, by }: HistoryAsked): Promise<HistoryFound | undefined> {
    const { ask, now } = this.#options
    return this.#answering(undefined, async () => {
      const { from, to, step } = span
      const [series, before] = [new HistorySeries(span, by), new HistorySeries(span, by)]
      await this.#addCells(series, { from, to, step })
      const accountsOf = async (since: number, until: number): Promise<readonly AccountRow[]> =>
        (await ask(ACCOUNTS, { step, from: since, to: until })).rows as AccountRow[]
      for (const row of await accountsOf(from, to)) series.addAccount(row)
      for (const row of await accountsOf(from - (to - from), from)) before.addAccount(row)
      const writers = (await ask(WRITERS, { from, to })).rows as WriterRow[]
      return {
        all: series.all(),
        lines: series.lines(),
        accounts: series.accounts(),
        accountsBefore: before.accounts(),
        writers: writers.map((row) => writerSeen(row, Math.floor(now() / 1_000))),
      }
    })
  }

  traffic(asked: TrafficAsked): Promise<TrafficRead | undefined> {
    const { ask, now } = this.#options
    return this.#answering(undefined, async () => {
      const { from, to } = secondsOf(asked)
      const sums = new TrafficSums(asked)
      await this.#addCells(sums, { from, to, step: 3_600 })
      const writers = (await ask(WRITERS, { from, to })).rows as WriterRow[]
      return { found: await inPieces(sums.found()), writers: writers.map((row) => writerSeen(row, Math.floor(now() / 1_000))) }
    })
  }

  close(): void {
    // The connections are those of the pages, which close them.
  }

  async #addCells(
    series: Pick<TrafficSums, 'add'> & Readonly<{ isTooMuch?: boolean }>,
    { from, to, step }: Readonly<{ from: number; to: number; step: number }>,
  ): Promise<void> {
    let place = { at: from, writer: '', model: '', upstream: '' }
    for (;;) {
      const rows = (await this.#options.ask(CELLS, { step, to, ...place })).rows as CellOfBase[]
      for (const { at, spread, lasting, ...cell } of rows)
        series.add(at, { ...cell, firstByte: Uint8Array.fromHex(spread), duration: Uint8Array.fromHex(lasting) })
      const last = rows.at(-1)
      if (last === undefined || rows.length < ROWS_AT_ONCE || series.isTooMuch) return
      place = { at: last.at, writer: last.writer, model: last.model, upstream: last.upstream }
    }
  }

  async #replace({ writer, step, at, cells, accounts }: MomentRows): Promise<void> {
    const { ask } = this.#options
    const moment = { step, at, writer }
    const written = cells.map(({ firstByte, duration, ...cell }) => ({ ...cell, spread: firstByte.toHex(), lasting: duration.toHex() }))
    await ask(PUT_CELLS, { ...moment, rows: JSON.stringify(written) })
    await ask(DROP_ACCOUNTS, moment)
    await ask(PUT_ACCOUNTS, { ...moment, rows: JSON.stringify(accounts) })
  }

  async #prune(): Promise<void> {
    const { ask, now } = this.#options
    if (now() < this.#prunedAt + PRUNE_MS) return
    this.#prunedAt = now()
    const { minutes, hours } = keptSince(now())
    for (const table of ['cells', 'accounts'])
      await ask(`DELETE FROM history.${table} WHERE (step = 60 AND at < $minutes) OR (step = 3600 AND at < $hours)`, { minutes, hours })
    await ask('DELETE FROM history.writers WHERE seen_at < $hours', { hours })
  }

  async #answering<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
    try {
      this.#making ??= this.#makeTables()
      await this.#making
      return await work()
    } catch (error) {
      this.#making = undefined
      this.#options.onEvent({ kind: 'failed', problem: error instanceof Error ? error.message : 'the database does not answer' })
      return otherwise
    }
  }

  /** Nodes that start at once make the tables at the same time, of which Postgres refuses all but one: the others try again, and find what is made already. */
  async #makeTables(): Promise<void> {
    const { ask } = this.#options
    for (let tries = 1; ; tries++) {
      if ((await ask(MADE)).rows.length > 0) return
      try {
        for (const statement of tables.split(';\n').filter((text) => text.trim() !== '')) await ask(statement)
        return
      } catch (error) {
        if (tries === TRIES) throw error
      }
    }
  }
}

/** A piece takes some microseconds, and requests go on between every so many. */
const PIECES_AT_ONCE = 50

async function inPieces<T>(work: Generator<void, T>): Promise<T> {
  for (let piece = 1; ; piece++) {
    const step = work.next()
    if (step.done === true) return step.value
    if (piece % PIECES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

const TRIES = 10
/** The last table that is made. */
const MADE = "SELECT 1 AS found FROM pg_catalog.pg_tables WHERE schemaname = 'history' AND tablename = 'accounts'"
const WRITER = `INSERT INTO history.writers (writer, began_at, seen_at, is_whole) VALUES ($writer, $began, $now, $whole)
  ON CONFLICT (writer) DO UPDATE SET seen_at = excluded.seen_at, is_whole = excluded.is_whole`
const PUT_CELLS = `INSERT INTO history.cells
  SELECT $step, $at, $writer, model, upstream, requests, refusals, decode(spread, 'hex'), decode(lasting, 'hex')
  FROM jsonb_to_recordset(CAST(CAST($rows AS TEXT) AS jsonb)) AS rows (model TEXT, upstream TEXT, requests BIGINT, refusals TEXT, spread TEXT, lasting TEXT)
  ON CONFLICT (step, at, writer, model, upstream) DO UPDATE
  SET requests = excluded.requests, refusals = excluded.refusals, first_byte = excluded.first_byte, duration = excluded.duration`
const DROP_ACCOUNTS = 'DELETE FROM history.accounts WHERE step = $step AND at = $at AND writer = $writer'
const PUT_ACCOUNTS = `INSERT INTO history.accounts
  SELECT $step, $at, $writer, account, requests, refused
  FROM jsonb_to_recordset(CAST(CAST($rows AS TEXT) AS jsonb)) AS rows (account TEXT, requests BIGINT, refused BIGINT)`
const CELLS = `SELECT at, writer, model, upstream, requests, refusals, encode(first_byte, 'hex') AS spread, encode(duration, 'hex') AS lasting
  FROM history.cells
  WHERE step = $step AND at < $to AND (at, writer, model, upstream) > ($at, $writer, $model, $upstream)
  ORDER BY at, writer, model, upstream LIMIT ${ROWS_AT_ONCE}`
const ACCOUNTS = `SELECT account, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(refused) AS BIGINT) AS refused FROM history.accounts
  WHERE step = $step AND at >= $from AND at < $to GROUP BY account`
const WRITERS =
  'SELECT writer, began_at, seen_at, is_whole FROM history.writers WHERE seen_at >= $from AND began_at < $to ORDER BY began_at'
