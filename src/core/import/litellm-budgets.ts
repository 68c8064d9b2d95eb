/**
 * Who pays for a key of LiteLLM: each budget is a pot, of which several keys may spend. One pot beside the key's own can be said here, as account and limit; more cannot.
 * Rules: operator.md "Import".
 */

import { maxPicos, minPicos, ZERO } from '../money.ts'
import type { Budget, Per } from '../windows.ts'
import { type Amount, leftOf } from './amount.ts'
import { numberIn, type Row, textIn } from './row.ts'

/** Rows as objects, by table; times are Unix milliseconds. A table that its version does not have is empty. */
export type LiteLlmRows = Readonly<
  Record<
    'keys' | 'users' | 'teams' | 'organizations' | 'projects' | 'budgets' | 'teamMembers' | 'organizationMembers' | 'deprecated',
    readonly Row[]
  >
>

/** `kind`: the words for whose it is. `duration`: after which it is full again; '': never. `budget`: the same as a window here; null: there is none. */
export type Pot = Readonly<{ kind: string; id: string; name: string; left: Amount; duration: string; budget: Budget | null }>

/** The durations whose windows are those of the calendar there, too: https://docs.litellm.ai/docs/proxy/budget_reset_and_tz */
const PERS_THERE: ReadonlyMap<string, Per> = new Map([
  ['1h', 'hour'],
  ['24h', 'day'],
  ['1d', 'day'],
  ['7d', 'week'],
  ['1w', 'week'],
  ['30d', 'month'],
  ['1mo', 'month'],
])

export class Budgets {
  readonly #budgets: ReadonlyMap<string, Row>
  readonly #users: ReadonlyMap<string, Row>
  readonly #teams: ReadonlyMap<string, Row>
  readonly #organizations: ReadonlyMap<string, Row>
  readonly #projects: ReadonlyMap<string, Row>
  readonly #members: ReadonlyMap<string, Row>

  constructor(rows: LiteLlmRows) {
    this.#budgets = byId(rows.budgets, 'budget_id')
    this.#users = byId(rows.users, 'user_id')
    this.#teams = byId(rows.teams, 'team_id')
    this.#organizations = byId(rows.organizations, 'organization_id')
    this.#projects = byId(rows.projects, 'project_id')
    const members = [...rows.teamMembers, ...rows.organizationMembers]
    this.#members = new Map(members.map((row) => [memberId(textIn(row, 'user_id'), groupIn(row)), row]))
  }

  teamOf = (key: Row): Row | undefined => this.#teams.get(textIn(key, 'team_id'))
  userOf = (key: Row): Row | undefined => this.#users.get(textIn(key, 'user_id'))
  projectOf = (key: Row): Row | undefined => this.#projects.get(textIn(key, 'project_id'))

  /** The key's own budget: the smaller of its column's and its tier's. */
  ownOf(key: Row): Pot | undefined {
    const id = textIn(key, 'token')
    return smaller(potOf('key', id, textIn(key, 'key_alias'), key, key), this.#tierPot('key', id, textIn(key, 'key_alias'), key))
  }

  /** The budgets that the key shares with others. */
  sharedBy(key: Row): readonly Pot[] {
    const [user, team, project] = [this.userOf(key), this.teamOf(key), this.projectOf(key)]
    const userId = textIn(key, 'user_id')
    const organization = this.#organizations.get(
      textIn(key, 'organization_id') || textIn(team ?? {}, 'organization_id') || textIn(user ?? {}, 'organization_id'),
    )
    const [ofTeam, ofOrganization] = [team, organization].map((group) => group && this.#members.get(memberId(userId, groupIn(group))))
    return [
      user && potOf('user', userId, nameOf(user, 'user_alias', 'user_email'), user, user),
      team && potOf('team', textIn(team, 'team_id'), nameOf(team, 'team_alias'), team, team),
      organization && this.#tierPot('organization', groupIn(organization), nameOf(organization, 'organization_alias'), organization),
      project && this.#tierPot('project', textIn(project, 'project_id'), nameOf(project, 'project_alias'), project),
      ofTeam && this.#tierPot('member of the team', userId, userId, ofTeam),
      ofOrganization && this.#tierPot('member of the organization', userId, userId, ofOrganization),
    ].filter((pot) => pot !== undefined)
  }

  #tierPot(kind: string, id: string, name: string, spender: Row): Pot | undefined {
    const budget = this.#budgets.get(textIn(spender, 'budget_id'))
    return budget && potOf(kind, id, name, budget, spender)
  }
}

function potOf(kind: string, id: string, name: string, budget: Row, spender: Row): Pot | undefined {
  const most = numberIn(budget, 'max_budget')
  if (most === undefined) return undefined
  const duration = textIn(budget, 'budget_duration')
  const per = PERS_THERE.get(duration)
  const window = per === undefined ? null : { per, capPicos: maxPicos(leftOf(most, 0).picos, ZERO) }
  return { kind, id, name, left: leftOf(most, numberIn(spender, 'spend') ?? 0), duration, budget: window }
}

function smaller(a: Pot | undefined, b: Pot | undefined): Pot | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const [less, more] = a.left.picos <= b.left.picos ? [a, b] : [b, a]
  if (less.budget === null) return less
  // A window says less than what it leaves now where the other budget is one of another window, or is never full again.
  if (less.budget.per !== more.budget?.per) return { ...less, budget: null }
  return { ...less, budget: { ...less.budget, capPicos: minPicos(less.budget.capPicos, more.budget.capPicos) } }
}

const byId = (rows: readonly Row[], column: string): ReadonlyMap<string, Row> => new Map(rows.map((row) => [textIn(row, column), row]))
const memberId = (user: string, group: string): string => JSON.stringify([user, group])
const groupIn = (row: Row): string => textIn(row, 'team_id') || textIn(row, 'organization_id')
const nameOf = (row: Row, ...columns: readonly string[]): string =>
  columns.map((column) => textIn(row, column)).find((it) => it !== '') ?? ''

/** The old hashes of a key that was rotated there, which still work for a while. */
export const oldHashesOf = (deprecated: readonly Row[]): ReadonlyMap<string, readonly Readonly<{ token: string; until: number }>[]> => {
  const found = new Map<string, { token: string; until: number }[]>()
  for (const row of deprecated) {
    const until = numberIn(row, 'revoke_at')
    const active = textIn(row, 'active_token_id')
    if (until !== undefined) found.set(active, [...(found.get(active) ?? []), { token: textIn(row, 'token'), until }])
  }
  return found
}
