/** A fault's cause as a metric label: few values, whatever an upstream does. Rules: operator.md "Metrics". */

const STATUS = /^status ([1-5])\d\d$/
/** Statuses that tell an operator something of their own; the others are counted by their hundred. */
const STATUSES = new Set([400, 401, 402, 403, 404, 408, 409, 413, 425, 429, 500, 502, 503, 504, 529].map((status) => `status ${status}`))
const WORDS_MAX = 40

/** 'status 529' stays, 'status 418' becomes 'status 4xx'. Of other causes the first 40 stay; every later one is 'other'. */
export class CauseLabel {
  readonly #words = new Set<string>()

  of(cause: string): string {
    if (STATUSES.has(cause) || this.#words.has(cause)) return cause
    const hundred = STATUS.exec(cause)?.[1]
    if (hundred !== undefined) return `status ${hundred}xx`
    if (this.#words.size >= WORDS_MAX) return 'other'
    this.#words.add(cause)
    return cause
  }
}
