/**
 * Sums of use in the memory of the thread that reads, a cell for each step and its things. SQLite groups rows by sorting them, which takes longer than to hand them over as
 * numbers; Postgres adds them up itself, since they would come over a socket. Rules: ledger.md "Hours".
 */

/** The sums of a cell: what is counted of a row, then what is an amount. */
const COUNTS = ['requests', 'input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'serverToolUses', 'costed'] as const
const AMOUNTS = ['cost', 'waived', 'estimated', 'upstreamCost'] as const
export const COLUMNS = [...COUNTS, ...AMOUNTS] as const
const WIDTH = COLUMNS.length
const COST = COUNTS.length
const CELLS_AT_FIRST = 256

/** The number of a thing, or its id. */
export type Value = number | string
type Values = Readonly<{ value1?: Value; value2?: Value; hour?: number }>
/** A row by hour as numbers. Absent: what is not asked for. */
export type HourRow = Values & Readonly<Record<(typeof COLUMNS)[number], number>>
/** An amount, as a number where that is exact. */
export type Amount = number | string
/** The place of the sums by the first hour of the step. */
type Group = Readonly<{ values: readonly Value[]; steps: Map<number, number> }>

export class Cells {
  readonly #stepOf: (hour: number) => number
  readonly #valuesOf: (values: readonly Value[]) => readonly Value[]
  readonly #groups = new Map<string, Group>()
  /** By the values as rows have them. */
  readonly #known = new Map<Value, Map<Value, Group>>()
  #last: Readonly<{ value1: Value; value2: Value; group: Group }> | undefined
  #sums = new Float64Array(CELLS_AT_FIRST * WIDTH)
  #end = 0
  /** What of a sum its number cannot have exactly, by its place. */
  readonly #beyond = new Map<number, bigint>()
  #isExact = true

  /** `stepOf`: the first hour of an hour's step. `valuesOf`: those that tell groups apart, of the values of a row. */
  constructor(stepOf: (hour: number) => number, valuesOf: (values: readonly Value[]) => readonly Value[] = (values) => values) {
    this.#stepOf = stepOf
    this.#valuesOf = valuesOf
  }

  /** False: an amount of a row was more than a number has exactly. */
  get isExact(): boolean {
    return this.#isExact
  }

  add(row: HourRow): void {
    const at = this.#placeOf(row)
    const sums = this.#sums as Record<number, number>
    sums[at] = (sums[at] ?? 0) + row.requests
    sums[at + 1] = (sums[at + 1] ?? 0) + row.input
    sums[at + 2] = (sums[at + 2] ?? 0) + row.output
    sums[at + 3] = (sums[at + 3] ?? 0) + row.cacheRead
    sums[at + 4] = (sums[at + 4] ?? 0) + row.cacheWrite5m
    sums[at + 5] = (sums[at + 5] ?? 0) + row.cacheWrite1h
    sums[at + 6] = (sums[at + 6] ?? 0) + row.serverToolUses
    sums[at + 7] = (sums[at + 7] ?? 0) + row.costed
    this.#addAmount(at + COST, row.cost)
    this.#addAmount(at + COST + 1, row.waived)
    this.#addAmount(at + COST + 2, row.estimated)
    this.#addAmount(at + COST + 3, row.upstreamCost)
  }

  /** Of a row of which nothing else was read. */
  addCost(row: Values & Readonly<{ cost: number }>): void {
    this.#addAmount(this.#placeOf(row) + COST, row.cost)
  }

  /** The same for sums that were added up before, in the order of the columns. */
  addSums(of: Values, sums: readonly bigint[]): void {
    const at = this.#placeOf(of)
    for (const [column, sum] of sums.entries()) this.#addBeyond(at + column, sum)
  }

  /** The groups, each with the places of its sums by the first hour of the step. */
  groups(): Iterable<Group> {
    return this.#groups.values()
  }

  /** A sum at a place, by its column. */
  at(place: number, column: number): Amount {
    const sum = this.#sums[place + column] ?? 0
    const beyond = this.#beyond.size === 0 ? undefined : this.#beyond.get(place + column)
    return beyond === undefined ? sum : String(beyond + BigInt(sum))
  }

  /** Some sums at a place together. */
  sumAt(place: number, columns: readonly number[]): Amount {
    return columns.reduce<Amount>((sum, column) => added(sum, this.at(place, column)), 0)
  }

  /** All sums of some places together, in the order of the columns. */
  sumsOf(places: readonly number[]): Amount[] {
    const sums: Amount[] = []
    for (let column = 0; column < WIDTH; column++) {
      let sum: Amount = 0
      for (const place of places) sum = added(sum, this.at(place, column))
      sums.push(sum)
    }
    return sums
  }

  #placeOf({ value1 = '', value2 = '', hour }: Values): number {
    const group = this.#groupOf(value1, value2)
    const step = hour === undefined ? 0 : this.#stepOf(hour)
    const known = group.steps.get(step)
    if (known !== undefined) return known
    const place = this.#end
    this.#end += WIDTH
    group.steps.set(step, place)
    if (this.#end > this.#sums.length) {
      const sums = new Float64Array(this.#sums.length * 2)
      sums.set(this.#sums)
      this.#sums = sums
    }
    return place
  }

  /** Rows of one key lie together, so the group is mostly that of the row before. */
  #groupOf(value1: Value, value2: Value): Group {
    if (this.#last?.value1 === value1 && this.#last.value2 === value2) return this.#last.group
    const ofFirst = this.#known.getOrInsertComputed(value1, () => new Map<Value, Group>())
    const group = ofFirst.getOrInsertComputed(value2, () => {
      const values = this.#valuesOf([value1, value2])
      return this.#groups.getOrInsertComputed(JSON.stringify(values), () => ({ values, steps: new Map() }))
    })
    this.#last = { value1, value2, group }
    return group
  }

  #addAmount(at: number, amount: number): void {
    const sum = (this.#sums[at] ?? 0) + amount
    if (sum <= Number.MAX_SAFE_INTEGER) {
      this.#sums[at] = sum
      return
    }
    if (amount > Number.MAX_SAFE_INTEGER) this.#isExact = false
    else this.#addBeyond(at, BigInt(amount))
  }

  #addBeyond(at: number, amount: bigint): void {
    const sum = BigInt(this.#sums[at] ?? 0) + amount
    if (sum <= Number.MAX_SAFE_INTEGER) this.#sums[at] = Number(sum)
    else {
      this.#sums[at] = 0
      this.#beyond.set(at, (this.#beyond.get(at) ?? 0n) + sum)
    }
  }
}

const amountOf = (sum: bigint): Amount => (sum <= Number.MAX_SAFE_INTEGER ? Number(sum) : String(sum))

/** As a number while that is exact. */
export function added(a: Amount, b: Amount): Amount {
  const sum = typeof a === 'number' && typeof b === 'number' ? a + b : Number.POSITIVE_INFINITY
  return sum <= Number.MAX_SAFE_INTEGER ? sum : amountOf(BigInt(a) + BigInt(b))
}
