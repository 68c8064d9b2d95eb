/**
 * Metrics as plain numbers, and their text for a scrape. A request costs a look-up and an addition; labels become text only at a scrape.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. Rules: operator.md "Metrics".
 */

/** One metric with all its series. `render` returns its text, without the last line break. */
export type Family = Readonly<{ render(): string | Promise<string> }>

type Labels = readonly string[]

/** A node of the labels' tree: a series where all labels are given, and a branch for each next label. */
type Branch<Value> = { value: Value | undefined; readonly next: Map<string, Branch<Value>> }

const emptyBranch = <Value>(): Branch<Value> => ({ value: undefined, next: new Map() })

/** Series of one metric by the values of its labels, which are given in the order of their names. A look-up for each label is cheaper than hashing one text of all values. */
class Series<Value> {
  readonly #root = emptyBranch<Value>()
  readonly #entries: Readonly<{ labels: Labels; value: Value }>[] = []
  readonly #fresh: () => Value

  constructor(fresh: () => Value) {
    this.#fresh = fresh
  }

  of(labels: Labels): Value {
    let branch = this.#root
    for (const label of labels) branch = branch.next.get(label) ?? grow(branch, label)
    branch.value ??= this.#enter(labels)
    return branch.value
  }

  entries(): readonly Readonly<{ labels: Labels; value: Value }>[] {
    return this.#entries
  }

  #enter(labels: Labels): Value {
    const value = this.#fresh()
    this.#entries.push({ labels, value })
    return value
  }
}

function grow<Value>(branch: Branch<Value>, label: string): Branch<Value> {
  const grown = emptyBranch<Value>()
  branch.next.set(label, grown)
  return grown
}

/** A counter, which only grows, or a gauge, which goes up and down. */
export class Sums implements Family {
  readonly #head: string
  readonly #name: string
  readonly #labelNames: Labels
  readonly #series = new Series(() => ({ sum: 0 }))

  constructor(type: 'counter' | 'gauge', name: string, help: string, labelNames: Labels) {
    this.#head = headOf(type, name, help)
    this.#name = name
    this.#labelNames = labelNames
  }

  add(labels: Labels, amount = 1): void {
    this.#series.of(labels).sum += amount
  }

  set(labels: Labels, value: number): void {
    this.#series.of(labels).sum = value
  }

  /** The sum of all series. */
  total(): number {
    return this.#series.entries().reduce((total, { value }) => total + value.sum, 0)
  }

  render(): string {
    const samples = this.#series.entries().map(({ labels, value }) => sample(this.#name, pairs(this.#labelNames, labels), value.sum))
    return [this.#head, ...samples].join('\n')
  }
}

/** A histogram: counts how many values fall into each range, whose upper bound belongs to it. */
export class Histogram implements Family {
  readonly #head: string
  readonly #name: string
  readonly #labelNames: Labels
  readonly #bounds: readonly number[]
  readonly #series: Series<{ counts: number[]; sum: number }>

  /** `bounds` ascend. */
  constructor(name: string, help: string, labelNames: Labels, bounds: readonly number[]) {
    this.#head = headOf('histogram', name, help)
    this.#name = name
    this.#labelNames = labelNames
    this.#bounds = bounds
    this.#series = new Series(() => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }))
  }

  observe(labels: Labels, value: number): void {
    const series = this.#series.of(labels)
    const { counts } = series
    let place = 0
    while (value > (this.#bounds[place] ?? Number.POSITIVE_INFINITY)) place++
    counts[place] = (counts[place] ?? 0) + 1
    series.sum += value
  }

  render(): string {
    return [this.#head, ...this.#series.entries().flatMap(({ labels, value }) => this.#samples(labels, value))].join('\n')
  }

  #samples(labels: Labels, { counts, sum }: { counts: readonly number[]; sum: number }): readonly string[] {
    let count = 0
    const of = pairs(this.#labelNames, labels)
    const buckets = counts.map((more, place) => {
      count += more
      return sample(`${this.#name}_bucket`, [`le="${this.#bounds[place] ?? '+Inf'}"`, ...of], count)
    })
    return [...buckets, sample(`${this.#name}_sum`, of, sum), sample(`${this.#name}_count`, of, count)]
  }
}

/** A gauge with one series, read at a scrape. */
export const reading = (type: 'counter' | 'gauge', name: string, help: string, read: () => number | Promise<number>): Family => ({
  render: async () => `${headOf(type, name, help)}\n${sample(name, [], await read())}`,
})

/** A gauge with several series, read at a scrape. */
export const readings = (
  name: string,
  help: string,
  labelNames: Labels,
  read: () => readonly (readonly [labels: Labels, value: number])[],
): Family => ({
  render: () =>
    [headOf('gauge', name, help), ...read().map(([labels, value]) => sample(name, pairs(labelNames, labels), value))].join('\n'),
})

const headOf = (type: string, name: string, help: string): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}`

const pairs = (names: Labels, values: Labels): readonly string[] => names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`)

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const sample = (name: string, labels: readonly string[], value: number): string =>
  `${name}${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${value === Number.POSITIVE_INFINITY ? '+Inf' : value}`
