/**
 * With every renewal, writes the facts that this node runs with into its row, and compares them with those of the other nodes. Rules: nodes.md "Nodes that differ".
 */

import { differencesAmong, type FactDifference, type FactsOfNode, LastingDifferences, type NodeFacts } from '../../core/node-facts.ts'
import type { NodeIdentity } from '../nodes.ts'
import { SessionFailure } from './session.ts'

export type PeersOptions = Readonly<{
  session: Readonly<{ ask<Row>(text: string, values?: readonly (string | number)[]): Promise<readonly Row[]> }>
  /** The present facts of this node. */
  facts: () => NodeFacts
  /** Called once for each difference that lasts. */
  onLasting: (difference: FactDifference) => void
  /** Milliseconds that never jump. */
  monotonicMs?: () => number
}>

type Row = Readonly<{ lane: bigint; name: string; facts: string }>

/**
 * The facts of a node's row. A row with the facts of another boot counts as empty: its node has not renewed yet, or its program is older and tells only the version of the
 * tables that it knows.
 */
export const FACTS = `CASE WHEN facts_boot = boot_number THEN facts WHEN schema_version < 4 THEN '{"version":"an older one"}' ELSE '{}' END`
const TELL = `
  WITH told AS (UPDATE nodes SET facts = $4, facts_boot = boot_number
    WHERE lane = $1 AND boot_number = $2 AND epoch = $3 AND lease_until > 0 AND (facts <> $4 OR facts_boot <> boot_number))
  SELECT lane, name, ${FACTS} AS facts FROM nodes JOIN boots ON boots.number = boot_number
  WHERE lane <> $1 AND lease_until >= clock_ms() ORDER BY lane`

export class Peers {
  readonly #options: PeersOptions
  readonly #lasting = new LastingDifferences()
  readonly #monotonicMs: () => number
  #differences: readonly FactDifference[] = []

  constructor(options: PeersOptions) {
    this.#options = options
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
  }

  /** The differences at the last look. */
  get differences(): readonly FactDifference[] {
    return this.#differences
  }

  /** If Postgres does not answer, the next renewal looks again. */
  async look({ lane, boot, epoch }: NodeIdentity, name: string): Promise<void> {
    const { session, facts: factsOf, onLasting } = this.#options
    const facts = factsOf()
    try {
      const rows = await session.ask<Row>(TELL, [lane, boot, epoch, JSON.stringify(facts)])
      const others = rows.map((row): FactsOfNode => ({ lane: Number(row.lane), name: row.name, facts: readFacts(row.facts) }))
      this.#differences = differencesAmong([{ lane, name, facts }, ...others])
    } catch (error) {
      if (error instanceof SessionFailure) return
      throw error
    }
    for (const difference of this.#lasting.note(this.#differences, this.#monotonicMs())) onLasting(difference)
  }
}

/** Reads the facts of any program, also of a later one: values that are no texts are left out. */
export function readFacts(text: string): NodeFacts {
  const told: unknown = parsed(text)
  if (typeof told !== 'object' || told === null) return {}
  return Object.fromEntries(Object.entries(told).filter((fact): fact is [string, string] => typeof fact[1] === 'string'))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
