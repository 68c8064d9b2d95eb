/** The questions to Explore that a person keeps under names, for the console or for an account's cabinet. Rules: pages.md "Saved views". */

import type { PeopleSql, Subject } from './people-sql.ts'
import { newRowId } from './token.ts'

/** `accountId`: null for the console. */
export type ViewPlace = Readonly<{ personId: string; accountId: string | null }>
/** `view`: JSON. */
export type SavedView = Readonly<{ id: string; name: string; view: string }>

/** A person keeps so many for each place. */
export const VIEWS_MAX = 50
export const VIEW_LENGTH_MAX = 4_000

export class Views {
  readonly #sql: PeopleSql
  readonly #now: () => number

  constructor(sql: PeopleSql, now: () => number) {
    this.#sql = sql
    this.#now = now
  }

  list(place: ViewPlace): Promise<readonly SavedView[]> {
    return this.#sql.all<SavedView>(`SELECT id, name, view FROM saved_views WHERE ${OF} ORDER BY name`, given(place))
  }

  /** `taken`: another view of the place has the name. The same view once more is the one that is there. `none`: the person is no member of the account any more. */
  save(place: ViewPlace, { name, view }: Omit<SavedView, 'id'>): Promise<SavedView | 'taken' | 'tooMany' | 'none'> {
    const { personId, accountId } = place
    const subjects: readonly Subject[] = [`person ${personId}`, ...(accountId === null ? [] : ([`account ${accountId}`] as const))]
    return this.#sql.transaction(subjects, async (sql) => {
      if (accountId !== null && (await sql.get(MEMBER, given(place))) === undefined) return 'none'
      const known = await new Views(sql, this.#now).list(place)
      const same = known.find((one) => one.name === name)
      if (same !== undefined) return same.view === view ? same : 'taken'
      if (known.length >= VIEWS_MAX) return 'tooMany'
      const id = newRowId()
      await sql.run(SAVE, { ...given(place), id, name, view, now: this.#now(), of: accountId })
      return { id, name, view }
    })
  }

  /** False: the person has no such view there. */
  async remove(place: ViewPlace, id: string): Promise<boolean> {
    return (await this.#sql.run(`DELETE FROM saved_views WHERE ${OF} AND id = $id`, { ...given(place), id })) > 0
  }
}

const MEMBER = 'SELECT person FROM memberships WHERE person = $person AND account_id = $account'
const OF = "person = $person AND coalesce(account_id, '') = $account"
const SAVE = 'INSERT INTO saved_views (id, person, account_id, name, view, created_at) VALUES ($id, $person, $of, $name, $view, $now)'
const given = ({ personId, accountId }: ViewPlace) => ({ person: personId, account: accountId ?? '' })
