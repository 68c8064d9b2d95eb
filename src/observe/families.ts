/**
 * Metrics as plain numbers, and their text for a scrape. What a request touches is a look-up and an addition; labels become text only when somebody asks.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. Rules: operator.md "Metrics".
 */

/** One metric with all its series; gives its text, without the last line break. */
export type Family = Readonly<{ render(): string | Promise<string> }>

type Labels = readonly string[]

/** Series of one metric by the values of its labels, which are given in the order of their names. */
class Series<Value> {
  readonly #bySpelling = new Map<string, Readonly<{ labels: Labels; value: Value }>>()
  readonly #fresh: () => Value

  constructor(fresh: () => Value) {
    this.#fresh = fresh
  }

  of(labels: Labels): Value {
    // JSON would tell apart what this may mix up, and take longer; no label has a NUL.
    const spelling = labels.join('\0')
    let found = this.#bySpelling.get(spelling)
    if (found === undefined) {
      found = { labels, value: this.#fresh() }
      this.#bySpelling.set(spelling, found)
    }
    return found.value
  }

  entries(): readonly Readonly<{ labels: Labels; value: Value }>[] {
    return [...this.#bySpelling.values()]
  }
}

/** A sum that only grows, or, as a gauge, a number that goes up and down. */
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

  render(): string {
    const samples = this.#series.entries().map(({ labels, value }) => sample(this.#name, pairs(this.#labelNames, labels), value.sum))
    return [this.#head, ...samples].join('\n')
  }
}

/** How values are spread over ranges, each up to and with its bound. */
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
    const { counts } = this.#series.of(labels)
    let place = 0
    while (value > (this.#bounds[place] ?? Number.POSITIVE_INFINITY)) place++
    counts[place] = (counts[place] ?? 0) + 1
    this.#series.of(labels).sum += value
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

/** One number, read when it is asked for. */
export const reading = (type: 'counter' | 'gauge', name: string, help: string, read: () => number | Promise<number>): Family => ({
  render: async () => `${headOf(type, name, help)}\n${sample(name, [], await read())}`,
})

const headOf = (type: string, name: string, help: string): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}`

const pairs = (names: Labels, values: Labels): readonly string[] => names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`)

const escaped = (value: string): string => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const sample = (name: string, labels: readonly string[], value: number): string =>
  `${name}${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${value === Number.POSITIVE_INFINITY ? '+Inf' : value}`
