/** Filters of a list as they stand in the page's address, so that a list can be linked to and gone back to. */

export type Filters<Field extends string> = Readonly<Partial<Record<Field, string>>>

/** The filters in the query; an empty value is no filter. */
export const filtersOf = <Field extends string>(fields: readonly Field[], query: Readonly<Record<string, string>>): Filters<Field> =>
  Object.fromEntries(fields.flatMap((field) => (query[field] ? [[field, query[field]]] : []))) as Filters<Field>

export function addressOf(path: string, filters: Filters<string>): string {
  const given = Object.entries(filters).flatMap(([field, value]) => (value?.trim() ? [[field, value.trim()]] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
