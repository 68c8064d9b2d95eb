/**
 * The alarms of this process, one entry a kind: count, first and last time, and the last fields. Kinds are constants of the code, so they are few. Rules:
 * pages.md "Alarms of the console".
 */

/** Times are Unix milliseconds. `detail`: the fields in the log line of the last alarm of this kind. */
export type Alarm = Readonly<{ what: string; count: number; firstAt: number; lastAt: number; detail: string }>

const KINDS_MAX = 64
const DETAIL_CHARS_MAX = 300

export class Alarms {
  readonly #now: () => number
  /** The kinds in the order of their last alarm, the newest at the end. */
  readonly #kinds = new Map<string, Alarm>()

  constructor(now: () => number) {
    this.#now = now
  }

  add(what: string, fields: Readonly<Record<string, string | number | undefined>> = {}): void {
    const now = this.#now()
    const { count, firstAt } = this.#kinds.get(what) ?? { count: 0, firstAt: now }
    this.#kinds.delete(what)
    this.#kinds.set(what, { what, count: count + 1, firstAt, lastAt: now, detail: detailOf(fields) })
    if (this.#kinds.size <= KINDS_MAX) return
    const [oldest] = this.#kinds.keys()
    if (oldest !== undefined) this.#kinds.delete(oldest)
  }

  /** All alarms, the newest first. */
  list(): readonly Alarm[] {
    return [...this.#kinds.values()].reverse()
  }
}

const detailOf = (fields: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}: ${value}`)
    .join(' · ')
    .slice(0, DETAIL_CHARS_MAX)
