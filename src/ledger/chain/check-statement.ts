/**
 * Checks a statement on its own: the chain, each price, the sums, the signature. A difference is named by its row. The reader must compare the key that signed the statement
 * with a known one, because a statement can be signed with any key. Rules: ledger.md "Statements".
 */

import { CryptoHasher } from 'bun'
import { isObject } from '../../core/json.ts'
import { NO_HASH } from './chain.ts'
import { isSignedBy } from './statement-key.ts'

/** `where`: a line of the file, with the row's id where it has one. */
export type StatementFinding = Readonly<{ where: string; problem: string }>

/** The end of a lane's chain when the statement was made. `previous`: the hash before the lane's first row in the statement. */
export type StatedLane = Readonly<{ lane: number; count: number; hash: string; previous: string }>
export type StatementHead = Readonly<{ account: string; publicKey: string; lanes: readonly StatedLane[] }>
export type StatementRow = Readonly<{ lane: number; seq: number; id: string; hash: string }>

/**
 * What was checked of a lane, up to its last row so far. `places`: the places at which that row may stand: the one that it says and, if its hash is wrong, also the one
 * after the row before it; empty: not known. `hash`: the hash in the row. `again`: the hash that the row's text gives, if it differs.
 */
type Walked = { places: readonly number[]; hash: string; again: string | undefined }

/** The length of `{"hash":"`, 64 digits and `",`. */
const HASH_LENGTH = 75
const HASH_AT = 9

export class StatementCheck {
  readonly findings: StatementFinding[] = []
  head: StatementHead | undefined
  rows = 0
  #line = 0
  #isOfOneLane = true
  readonly #lanes = new Map<number, Walked>()
  #opening = 0n
  #credits = 0n
  #costs = 0n
  #hasher = new CryptoHasher('sha256')
  #isOver: 'no' | 'summed' | 'signed' = 'no'

  /** Takes a line with its line break. Returns the row if the line is one. */
  take(bytes: Uint8Array): StatementRow | undefined {
    this.#line++
    const text = Buffer.from(bytes).toString('utf8')
    const value = parsed(text)
    if (value === undefined) this.#takeBroken(bytes)
    else if (this.#isOver === 'signed') this.#name(`line ${this.#line}`, 'stands behind the signature')
    else if ('signature' in value) this.#takeSignature(String(value['signature']))
    else if (this.#line === 1) this.#takeHead(value)
    else if ('closing_balance_picos' in value) this.#takeSums(value)
    else {
      this.#hasher.update(bytes)
      return this.#takeRow(bytes, value)
    }
    if (this.#isOver !== 'signed') this.#hasher.update(bytes)
    return undefined
  }

  end(): readonly StatementFinding[] {
    if (this.#isOver !== 'signed') this.#name('the end', 'the statement breaks off before its signature')
    return this.findings
  }

  #takeHead(value: Fields): void {
    const heads = Array.isArray(value['heads']) ? value['heads'].filter(isObject) : []
    this.#isOfOneLane = value['statement'] !== 2
    if (this.#isOfOneLane && value['statement'] !== 1) this.#name('line 1', 'is not the head of a statement of version 1 or 2')
    if (heads.length === 0 || (this.#isOfOneLane && heads.length > 1)) this.#name('line 1', 'does not say where each lane ends')
    this.#opening = wholeOf(value['opening_balance_picos'])
    const lanes = heads.map((head) => ({
      lane: Number(head['lane']),
      count: Number(head['count']),
      hash: String(head['hash']),
      previous: String(this.#isOfOneLane ? value['previous'] : head['previous']),
    }))
    for (const { lane, previous } of lanes) this.#lanes.set(lane, { places: [], hash: previous, again: undefined })
    this.head = { account: String(value['account']), publicKey: String(value['public_key']), lanes }
  }

  #takeRow(bytes: Uint8Array, value: Fields): StatementRow | undefined {
    const [seq, id, hash] = [Number(value['seq']), String(value['id']), String(value['hash'])]
    const where = `line ${this.#line} (${id})`
    this.rows++
    const lane = Number(value['lane'])
    const walked = this.#lanes.get(lane) ?? this.#onlyLane() ?? this.#unnamedLane(where, lane)
    const { places } = walked
    const made = hashesOf(walked, bytes)
    const isSame = made.includes(hash)
    if (!isSame) this.#name(where, 'is not what its hash says')
    if (places.length > 0 && !places.includes(seq - 1)) this.#name(where, `stands at place ${seq}, after place ${places[0]}`)
    if (value['account'] !== this.head?.account) this.#name(where, `is of another account, ${String(value['account'])}`)
    const head = this.head?.lanes.find((stated) => stated.lane === lane && stated.count === seq)
    if (head !== undefined && head.hash !== hash) this.#name(where, 'is not the row that the head of the statement ends with')
    const [before] = places
    Object.assign(walked, {
      places: isSame ? [seq] : before === undefined ? [] : [seq, before + 1],
      hash,
      again: isSame ? undefined : made[0],
    })
    if (value['kind'] === 'credit') this.#credits += wholeOf(value['amount_picos'])
    else this.#takeReceipt(where, value)
    return { lane, seq, id, hash }
  }

  /** The lane for a row that names an unknown lane, if the statement has a single lane: such a row was changed, and its hash tells so. */
  #onlyLane(): Walked | undefined {
    const [first, second] = this.#lanes.values()
    return second === undefined ? first : undefined
  }

  #unnamedLane(where: string, lane: number): Walked {
    this.#name(where, `is of lane ${lane}, which the head of the statement does not name`)
    const walked: Walked = { places: [], hash: NO_HASH, again: undefined }
    this.#lanes.set(lane, walked)
    return walked
  }

  /** Takes a line that is no JSON: the rows after it are checked from the hash that stands in the line. */
  #takeBroken(bytes: Uint8Array): void {
    this.#name(`line ${this.#line}`, 'is no JSON')
    if (this.#line === 1) return
    this.rows++
    const lane = /"lane":(\d+)/.exec(Buffer.from(bytes).toString('latin1'))?.[1]
    const walked = this.#lanes.get(Number(lane)) ?? this.#onlyLane()
    if (walked === undefined) return
    const [again] = hashesOf(walked, bytes)
    const hash = Buffer.from(bytes.subarray(HASH_AT, HASH_AT + NO_HASH.length)).toString('latin1')
    Object.assign(walked, { places: walked.places.map((place) => place + 1), hash, again })
  }

  #takeReceipt(where: string, value: Fields): void {
    const [cost, waived] = [wholeOf(value['cost_picos']), wholeOf(value['waived_picos'])]
    const price = priceOf(value)
    if (cost + waived !== price)
      this.#name(where, `costs ${cost} and waives ${waived}, but its tokens at its rates are ${price} picodollars`)
    this.#costs += cost
  }

  #takeSums(value: Fields): void {
    this.#isOver = 'summed'
    const expected: readonly (readonly [string, unknown])[] = [
      ['rows', this.rows],
      ['credits_picos', String(this.#credits)],
      ['costs_picos', String(this.#costs)],
      ['closing_balance_picos', String(this.#opening + this.#credits - this.#costs)],
    ]
    const lasts = [...this.#lanes].map(([lane, { hash }]) => ({ lane, hash }))
    const last = this.#isOfOneLane ? lasts[0]?.hash : JSON.stringify(lasts)
    const said = this.#isOfOneLane ? value['last'] : JSON.stringify(value['last'])
    for (const [name, sum, told] of [...expected.map(([name, sum]) => [name, sum, value[name]] as const), ['last', last, said] as const]) {
      if (told !== sum) this.#name(`line ${this.#line}`, `says ${name} ${String(told)}, but the rows give ${String(sum)}`)
    }
  }

  #takeSignature(signature: string): void {
    const isSummed = this.#isOver === 'summed'
    this.#isOver = 'signed'
    if (!isSummed) this.#name(`line ${this.#line}`, 'the sums are missing')
    if (!isSignedBy(this.head?.publicKey ?? '', this.#hasher.digest(), signature)) {
      this.#name(`line ${this.#line}`, 'the signature is not that of the key over these lines')
    }
  }

  #name(where: string, problem: string): void {
    this.findings.push({ where, problem })
  }
}

type Fields = Readonly<Record<string, unknown>>

const COUNTERS = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const

function priceOf(value: Fields): bigint {
  const tokens = isObject(value['tokens']) ? value['tokens'] : {}
  const rates = isObject(value['rates_picos']) ? value['rates_picos'] : {}
  const priceAt = (count: string, rate: string): bigint => wholeOf(tokens[count]) * wholeOf(rates[rate])
  return COUNTERS.reduce((sum, name) => sum + priceAt(name, name), priceAt('server_tool_uses', 'server_tool_use'))
}

/** The whole number, or 0 if the value is none: such a row was already reported because of its hash. */
const wholeOf = (value: unknown): bigint => (/^-?\d{1,40}$/.test(String(value)) ? BigInt(String(value)) : 0n)

/** The hashes that the line's text gives: one from the hash that stands in the row before, and one from the hash that the row before should have. */
function hashesOf({ hash, again }: Walked, bytes: Uint8Array): readonly string[] {
  const text = Buffer.concat([Buffer.from('{'), bytes.subarray(HASH_LENGTH, bytes.length - 1)])
  return [hash, again].filter((before) => before !== undefined).map((before) => hashOf(before, text))
}

const hashOf = (previous: string, text: Uint8Array): string => new CryptoHasher('sha256').update(previous).update(text).digest('hex')

function parsed(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
