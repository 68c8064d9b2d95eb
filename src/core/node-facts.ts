/** The facts of a node of a shared ledger, and in which of them nodes differ. Rules: nodes.md "Nodes that differ". */

/** Short texts by name: versions, figures, hashes. Empty for a process that serves no clients, such as a command. */
export type NodeFacts = Readonly<Record<string, string>>

export type FactsOfNode = Readonly<{ lane: number; name: string; facts: NodeFacts }>

/** `what`: the fact's name. `values`: each value once, with the nodes that have it. */
export type FactDifference = Readonly<{ what: string; values: readonly Readonly<{ value: string; nodes: readonly string[] }>[] }>

/** The facts in which the nodes differ. A node without a fact, because its program does not know it, does not differ in it. */
export function differencesAmong(nodes: readonly FactsOfNode[]): readonly FactDifference[] {
  const names = [...new Set(nodes.flatMap(({ facts }) => Object.keys(facts)))].sort()
  return names.map((what) => ({ what, values: valuesOf(what, nodes) })).filter(({ values }) => values.length > 1)
}

function valuesOf(what: string, nodes: readonly FactsOfNode[]): FactDifference['values'] {
  const told = nodes.filter(({ facts }) => facts[what] !== undefined)
  const byValue = Map.groupBy(told, ({ facts }) => facts[what] ?? '')
  return [...byValue].map(([value, own]) => ({ value, nodes: own.map(({ lane, name }) => `${name} (lane ${lane})`) }))
}

/** `prices: 1f2e3d4c on a (lane 0), 99aa88bb on b (lane 1)`. */
export const differenceText = ({ what, values }: FactDifference): string =>
  `${what}: ${values.map(({ value, nodes }) => `${value} on ${nodes.join(', ')}`).join('; ')}`

/** A rolling change makes nodes differ for less than this, which is normal. */
const LASTING_MS = 60_000

/** Finds the differences that last, and tells each once while it lasts. */
export class LastingDifferences {
  /** By the fact's name: since when it differs, by a clock that never jumps, and whether that was told. */
  readonly #since = new Map<string, { ms: number; isTold: boolean }>()

  /** The differences to tell now. */
  note(differences: readonly FactDifference[], nowMs: number): readonly FactDifference[] {
    const names = new Set(differences.map(({ what }) => what))
    for (const what of this.#since.keys()) if (!names.has(what)) this.#since.delete(what)
    return differences.filter(({ what }) => {
      const known = this.#since.get(what)
      if (known === undefined) this.#since.set(what, { ms: nowMs, isTold: false })
      if (known === undefined || known.isTold || nowMs - known.ms < LASTING_MS) return false
      known.isTold = true
      return true
    })
  }
}
