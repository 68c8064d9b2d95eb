/** A key or account that an operator names by its id, or by a name that no other has. Rules: operator.md "Commands". */

export type NameProblem = Readonly<{ problem: 'unknown' | 'ambiguous'; message: string }>

/** The one of `found`, which are all with that id or name; an id wins over a name. */
export function byIdOrName<T extends Readonly<{ id: string }>>(
  found: readonly T[],
  idOrName: string,
  what: 'key' | 'account',
): T | NameProblem {
  const byId = found.find(({ id }) => id === idOrName)
  const [first, second] = found
  if (byId !== undefined) return byId
  if (first === undefined) return { problem: 'unknown', message: `there is no ${what} ${idOrName}` }
  if (second === undefined) return first
  const ids = found.map(({ id }) => id).sort()
  return { problem: 'ambiguous', message: `${idOrName} names ${found.length} ${what}s: ${ids.join(', ')}` }
}
