/**
 * Walks the chains of every account, one for each lane. A row that was removed, moved or changed is reported by the id of the row at which this shows. A chain that was
 * written anew from some row on is found only by comparison with an earlier statement. Rules: ledger.md "Chain".
 */

import type { Connection } from '../sql/connection.ts'
import { NO_HASH, nextHash } from './chain.ts'
import type { ChainRow } from './chain-row.ts'
import { ChainRows } from './chain-rows.ts'
import type { Difference } from './difference.ts'
import { NO_TELL, type TellProgress } from './verify-progress.ts'

/** `hash`: the stored hash of the last row. `again`: the hash that the row's text gives, if it differs. Both are undefined if the row before is missing. */
type Head = { count: number; hash: string | undefined; again: string | undefined }

const GAP = 'the chain of an account has no gap'
const ORDER = 'the rows of an account stand in the order of its chain'
const HASH = 'a row is what its hash says'
const END = 'the chain of an account ends where its account says'

/** An account's lane. */
type Lane = Readonly<{ account: number; lane: number }>

class ChainWalk {
  readonly #rows: ChainRows
  readonly #walked: () => void
  /** The lanes of each account, as the ledger says. */
  #stored: ReadonlyMap<number, readonly number[]> = new Map()
  readonly #heads = new Map<string, Lane & { readonly head: Head }>()
  readonly #credits = new Map<string, number>()
  readonly #found: Difference[] = []

  /** `walked`: called with each receipt. */
  constructor(rows: ChainRows, walked: () => void) {
    this.#rows = rows
    this.#walked = walked
  }

  /** Learns the lanes that accounts have by now; to be called before the rows of these lanes are walked. */
  learn(stored: ReadonlyMap<number, readonly number[]>): void {
    this.#stored = stored
  }

  get found(): readonly Difference[] {
    return this.#found
  }

  /** The lanes of which a row was seen. */
  get lanes(): Iterable<Lane> {
    return this.#heads.values()
  }

  /** Takes the next receipt of a lane, and the credits that stand before it. */
  receipt(row: ChainRow): void {
    this.#walked()
    const head = this.#headOf(row)
    if (row.seq > head.count + 1) {
      for (const credit of this.#rows.credits(row.account, row.lane, head.count + 1)) {
        if (credit.seq >= row.seq) break
        this.#credit(head, credit)
      }
    }
    this.#take(head, row)
  }

  /** Takes the credits after a lane's last receipt, and compares the end of the chain with what the ledger says of it. */
  end(of: Lane, { subject, count, hash, credits }: Readonly<{ subject: string; count: number; hash: string; credits: number }>): void {
    const head = this.#headOf(of)
    for (const credit of this.#rows.credits(of.account, of.lane, head.count + 1)) this.#credit(head, credit)
    if (head.count !== count) this.#name(END, subject, `${count} rows`, `${head.count} rows`)
    else if (hash !== head.hash && hash !== head.again) this.#name(END, subject, hash, head.hash ?? NO_HASH)
    const taken = this.#credits.get(placeOf(of)) ?? 0
    if (taken !== credits) this.#name(ORDER, subject, `${credits} credits`, `${taken} in the chain`)
  }

  #credit(head: Head, credit: ChainRow): void {
    this.#credits.set(placeOf(credit), (this.#credits.get(placeOf(credit)) ?? 0) + 1)
    this.#take(head, credit)
  }

  #take(head: Head, { seq, id, hash, text }: ChainRow): void {
    if (seq <= head.count) {
      this.#name(ORDER, id, `place ${seq}`, `place ${head.count + 1} or later`)
      return
    }
    if (seq > head.count + 1) {
      this.#name(GAP, id, `place ${seq}`, `place ${head.count + 1}`)
      Object.assign(head, { count: seq, hash, again: undefined })
      return
    }
    const made = [head.hash, head.again].filter((before) => before !== undefined).map((before) => nextHash(before, text).toString('hex'))
    const isSame = made.length === 0 || made.includes(hash)
    if (!isSame) this.#name(HASH, id, hash, made[0] ?? '')
    Object.assign(head, { count: seq, hash, again: isSame ? undefined : made[0] })
  }

  /** If the account has a single lane, a row that names another counts for that one: the row was changed, and its hash tells so. */
  #headOf({ account, lane: said }: Lane): Head {
    const stored = this.#stored.get(account) ?? []
    const lane = stored.length === 1 ? (stored[0] ?? said) : said
    const known = this.#heads.get(placeOf({ account, lane }))
    if (known !== undefined) return known.head
    const head = { count: 0, hash: NO_HASH, again: undefined }
    this.#heads.set(placeOf({ account, lane }), { account, lane, head })
    return head
  }

  #name(rule: string, subject: string, stored: string, recomputed: string): void {
    this.#found.push({ rule, subject, stored, recomputed })
  }
}

const placeOf = ({ account, lane }: Lane): string => `${account}:${lane}`

type Stored = { account: bigint; lane: bigint }
type StoredEnd = Stored & { count: bigint; hash: string }

/** How many receipts may be left for the last snapshot, which also reads the ends of the chains. */
const LAST_ROWS = 2_000
/** The most steps before the last snapshot: the walk does not try forever to catch up with a writer that is faster. */
const STEPS_MAX = 20

/**
 * `settledEnd`: a number up to which no receipt can come any more; undefined where that cannot be said. Receipts never change, so those up to it are walked
 * without a snapshot. The rest, and the ends of the chains, are read in one snapshot.
 */
export function chainFindings(
  db: Connection,
  settledEnd: () => number | undefined = () => undefined,
  tell: TellProgress = NO_TELL,
): readonly Difference[] {
  const rows = new ChainRows(db)
  const walk = new ChainWalk(rows, walkTold(db, tell))
  let walked = 0
  for (let step = 0; step < STEPS_MAX; step++) {
    const end = settledEnd()
    if (end === undefined || end - walked <= LAST_ROWS) break
    walk.learn(lanesOf(db.query<StoredEnd, []>(ENDS).all().map(laneOf)))
    for (const receipt of rows.receipts(BigInt(walked), BigInt(end))) walk.receipt(receipt)
    walked = end
  }
  return db.transaction(() => walkRest(db, rows, walk, BigInt(walked)))()
}

const TOLD_EVERY = 1_000

/** Tells how many receipts were walked, a thousand at a time. */
function walkTold(db: Connection, tell: TellProgress): () => void {
  if (tell === NO_TELL) return () => undefined
  const of = Number(db.query<{ last: bigint }, []>('SELECT coalesce(max(number), 0) AS last FROM receipts').get()?.last ?? 0)
  let done = 0
  return () => {
    if (done++ % TOLD_EVERY === 0) tell({ step: 'chains', done, of: Math.max(of, done) })
  }
}

function walkRest(db: Connection, rows: ChainRows, walk: ChainWalk, walked: bigint): readonly Difference[] {
  const ends = byLane(db.query<StoredEnd, []>(ENDS).all())
  const credits = byLane(db.query<Stored & { count: bigint }, []>(CREDITS).all())
  walk.learn(lanesOf([...ends.values()].map(laneOf)))
  for (const receipt of rows.receipts(walked)) walk.receipt(receipt)
  const lanes = new Map([...walk.lanes, ...[...ends.values(), ...credits.values()].map(laneOf)].map((of) => [placeOf(of), of]))
  const names = new Map(
    db
      .query<{ number: bigint; id: string }, []>('SELECT number, id FROM accounts')
      .all()
      .map(({ number, id }) => [Number(number), id]),
  )
  for (const [place, of] of [...lanes].sort(([, a], [, b]) => a.account - b.account || a.lane - b.lane)) {
    const id = names.get(of.account)
    // A row without its account is reported by another rule.
    if (id === undefined) continue
    const [end, counted] = [ends.get(place), credits.get(place)]
    walk.end(of, {
      subject: of.lane === 0 ? id : `${id}, lane ${of.lane}`,
      count: Number(end?.count ?? 0),
      hash: end?.hash ?? NO_HASH,
      credits: Number(counted?.count ?? 0),
    })
  }
  return walk.found
}

const ENDS = 'SELECT account_number AS account, lane, chain_count AS count, lower(hex(chain_hash)) AS hash FROM chain_heads'
const CREDITS = 'SELECT account_number AS account, lane, count(*) AS count FROM credits GROUP BY account_number, lane'

const laneOf = ({ account, lane }: Stored): Lane => ({ account: Number(account), lane: Number(lane) })

function lanesOf(lanes: readonly Lane[]): ReadonlyMap<number, readonly number[]> {
  const byAccount = new Map<number, number[]>()
  for (const { account, lane } of lanes) byAccount.set(account, [...(byAccount.get(account) ?? []), lane])
  return byAccount
}

const byLane = <Row extends Stored>(rows: readonly Row[]): ReadonlyMap<string, Row> =>
  new Map(rows.map((row) => [placeOf(laneOf(row)), row]))
