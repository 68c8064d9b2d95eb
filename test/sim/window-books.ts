/** The auditor's budgets: what a simulated world has set, and by all of its requests what each window has of them, added up request by request. Rules: money.md "Budgets". */

import type { WindowBalance } from '../../src/core/spending.ts'
import { type Budgets, HOUR_MS, HOURS_BEHIND_MAX, hourAt, PERS, type Per, type Window, windowAt } from '../../src/core/windows.ts'
import { type Books, type Entry, must } from './books.ts'

export const SET_BY = ['operator', 'customer'] as const
type SetBy = (typeof SET_BY)[number]

/** A window of a budget: its cap, and what the requests that were admitted in it have spent and hold. */
type WindowSum = Readonly<{ of: WindowBalance['of']; per: Per; window: Window; cap: bigint; spent: bigint; held: bigint }>
type Scope = Readonly<{ of: WindowBalance['of']; capOf: (per: Per) => bigint | undefined; covers: (entry: Entry) => boolean }>

export class WindowBooks {
  readonly #books: Books
  /** By key or account, length and who set it. */
  readonly #caps = new Map<string, bigint>()
  readonly #plans: ReadonlyMap<string, Budgets>

  constructor(books: Books, plans: ReadonlyMap<string, Budgets>) {
    this.#books = books
    this.#plans = plans
  }

  set(id: string, per: Per, setBy: SetBy, cap: bigint | null): void {
    if (cap === null) this.#caps.delete(`${id} ${per} ${setBy}`)
    else this.#caps.set(`${id} ${per} ${setBy}`, cap)
  }

  capBy = (id: string, per: Per, setBy: SetBy): bigint | undefined => this.#caps.get(`${id} ${per} ${setBy}`)

  /** All that is set for a key or an account, as one text a budget. */
  allOf = (id: string): readonly string[] =>
    PERS.flatMap((per) => SET_BY.map((setBy) => ({ name: `${per} ${setBy}`, cap: this.capBy(id, per, setBy) })))
      .filter(({ cap }) => cap !== undefined)
      .map(({ name, cap }) => `${name} ${cap}`)
      .toSorted()

  /** The windows of all budgets of the key in which the hour lies. */
  at = (keyId: string, hour: number): readonly WindowSum[] =>
    this.#scopesOf(keyId).flatMap((scope) => PERS.flatMap((per) => this.#sum(scope, per, windowAt(per, hour))))

  /** What a hold is answered by windows such as memory shows them; undefined: they let it in. */
  shortage(keyId: string, shown: readonly WindowBalance[]): string | undefined {
    const windows = this.#shownOf(keyId, shown)
    const used = windows.filter(({ cap, spent }) => spent >= cap).toSorted((a, b) => b.window.end - a.window.end)[0]
    if (used !== undefined) return `until ${used.window.end * HOUR_MS}`
    return windows.some(({ cap, spent, held }) => spent + held >= cap) ? 'reserved' : undefined
  }

  /** What memory shows of the key's budgets is what is set, spent and held, in windows of one hour that is the clock's, or a later one for which it is waited. */
  checkShown(keyId: string, shown: readonly WindowBalance[], now: number): void {
    const textOf = (of: string, per: string, amounts: readonly bigint[], end: number): string =>
      `${of} ${per} ${amounts.join(' ')} to ${end}`
    const told = shown.map(({ of, per, capPicos, spentPicos, heldPicos, resetsAt }) =>
      textOf(of, per, [capPicos, spentPicos, heldPicos], resetsAt / HOUR_MS),
    )
    const own = this.#shownOf(keyId, shown).map(({ of, per, cap, spent, held, window }) => textOf(of, per, [cap, spent, held], window.end))
    must(
      'memory knows what each window has',
      told.join('; ') === own.join('; '),
      () => `${keyId}: ${told.join('; ')}, not ${own.join('; ')}`,
    )
    for (const { window } of this.#shownOf(keyId, shown)) {
      must('no window comes again', window.end > hourAt(now), () => `${keyId}: one to ${window.end} at ${hourAt(now)}`)
      must(
        'no window is begun early',
        window.start <= hourAt(now) + HOURS_BEHIND_MAX,
        () => `${keyId}: one from ${window.start} at ${hourAt(now)}`,
      )
    }
  }

  /** Something of each window was left when the request was admitted, so that none ends more than one request above its cap. */
  checkAdmitted(entry: Entry): void {
    for (const { of, per, window, cap, spent, held } of this.at(entry.keyId, entry.hour))
      must(
        'a window ends one request above its cap at most',
        spent + held < cap,
        () => `${entry.id}: of ${of} and ${per} from ${window.start}: ${spent} and ${held} of ${cap}`,
      )
  }

  #shownOf(keyId: string, shown: readonly WindowBalance[]): readonly WindowSum[] {
    const ends = new Map(shown.map(({ of, per, resetsAt }) => [`${of} ${per}`, resetsAt / HOUR_MS]))
    return this.#scopesOf(keyId).flatMap((scope) =>
      PERS.flatMap((per) => this.#sum(scope, per, windowAt(per, (ends.get(`${scope.of} ${per}`) ?? 0) - 1))),
    )
  }

  #sum({ of, capOf, covers }: Scope, per: Per, window: Window): readonly WindowSum[] {
    const cap = capOf(per)
    if (cap === undefined) return []
    const within = [...this.#books.entries.values()].filter((one) => covers(one) && one.hour >= window.start && one.hour < window.end)
    const spent = within.filter(({ state }) => state === 'settling' || state === 'charged').reduce((sum, one) => sum + one.costPicos, 0n)
    const held = within.filter(({ state }) => state === 'held').reduce((sum, one) => sum + one.holdPicos, 0n)
    return [{ of, per, window, cap, spent, held }]
  }

  #scopesOf(keyId: string): readonly Scope[] {
    const { accountId = '', plan = '' } = this.#books.keys.get(keyId) ?? {}
    const keyOf = (entry: Entry) => this.#books.keys.get(entry.keyId)
    return [
      { of: 'key', capOf: (per) => this.#least(keyId, per), covers: (one) => one.keyId === keyId },
      { of: 'account', capOf: (per) => this.#least(accountId, per), covers: (one) => keyOf(one)?.accountId === accountId },
      {
        of: 'plan',
        capOf: (per) => this.#plans.get(plan)?.find((one) => one.per === per)?.capPicos,
        covers: (one) => keyOf(one)?.accountId === accountId && keyOf(one)?.plan === plan,
      },
    ]
  }

  #least(id: string, per: Per): bigint | undefined {
    const caps = SET_BY.map((setBy) => this.capBy(id, per, setBy)).filter((cap) => cap !== undefined)
    return caps.toSorted((a, b) => (a < b ? -1 : 1))[0]
  }
}
