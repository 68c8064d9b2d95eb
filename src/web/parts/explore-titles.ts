/** What things are called on Explore: by their names, and where several of a kind share one, each with the end of its id behind it. Rules: pages.md "Explore". */

import type { GroupName } from './explore-view.ts'

/** `name`: empty where it has none but its id. */
export type Thing = Readonly<{ id: string; name: string }>
type Rows = readonly Readonly<{ things: readonly Thing[] }>[]

const ID_END = 6

/** `by`: what the things of each row are. The title of a thing that is in no row is its id. */
export function titlesOf(by: readonly GroupName[], rows: Rows): (thing: GroupName, id: string) => string {
  const idsOf = new Map<string, Set<string>>()
  const names = new Map<string, string>()
  for (const { things } of rows)
    things.forEach(({ id, name }, at) => {
      const shown = name === '' ? id : name
      const place = `${by[at]} ${shown}`
      idsOf.set(place, (idsOf.get(place) ?? new Set()).add(id))
      names.set(`${by[at]} ${id}`, shown)
    })
  return (thing, id) => {
    const name = names.get(`${thing} ${id}`) ?? id
    return (idsOf.get(`${thing} ${name}`)?.size ?? 0) > 1 ? `${name} (…${id.slice(-ID_END)})` : name
  }
}
