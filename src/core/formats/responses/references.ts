/** The items of a request: its own and those that it refers to, as one list. Rules: requests.md "Remembered answers"; responses.md "References". */

import { isGiven, isObject, type JsonObject, NOT_A_STRING, REQUIRED } from '../../json.ts'
import { invalid, Refusal } from '../../refusal.ts'

/** An item and where it stands: at an index of `input`, or in the field of this name. */
export type Item = Readonly<{ item: unknown; place: number | string }>

/** As refusals name it. */
export const pathOf = ({ place }: Item): string => (typeof place === 'number' ? `input.${place}` : place)

export type Recall = (id: string) => readonly unknown[] | undefined

/**
 * Items of the earlier answer first. An item that is referred to again counts once: otherwise a small body could grow without end. References that are unknown
 * refuse the request, save those to reasoning, which a model can do without.
 */
export function readItems(body: JsonObject, recall: Recall): readonly Item[] | Refusal {
  const earlier = readEarlier(body['previous_response_id'], recall)
  if (earlier instanceof Refusal) return earlier
  const own = readOwn(body['input'])
  if (own instanceof Refusal) return own
  const items: Item[] = [...earlier]
  const seen = new Set<string>()
  for (const entry of own) {
    const id = referenceOf(entry.item)
    if (id === undefined) items.push(entry)
    else if (!seen.has(id)) {
      seen.add(id)
      const found = recall(id)
      if (found === undefined && !id.startsWith('rs_')) return unresolved(id, pathOf(entry))
      for (const item of found ?? []) items.push({ item, place: entry.place })
    }
  }
  return items
}

const ID_LENGTH_SHOWN_MAX = 100

const unresolved = (id: string, path: string): Refusal =>
  invalid(path, `item_reference "${id.slice(0, ID_LENGTH_SHOWN_MAX)}" cannot be resolved; send the full input (store: false)`)

function readEarlier(id: unknown, recall: Recall): readonly Item[] | Refusal {
  const path = 'previous_response_id'
  if (!isGiven(id)) return []
  if (typeof id !== 'string') return invalid(path, NOT_A_STRING)
  const items = recall(id)
  return items === undefined ? invalid(path, 'not found; send the full input (store: false)') : items.map((item) => ({ item, place: path }))
}

function readOwn(input: unknown): readonly Item[] | Refusal {
  if (!isGiven(input)) return invalid('input', REQUIRED)
  if (typeof input === 'string') return [{ item: { type: 'message', role: 'user', content: input }, place: 'input' }]
  if (!Array.isArray(input)) return invalid('input', 'Input should be a valid string or array')
  return input.length === 0 ? invalid('input', REQUIRED) : input.map((item, index) => ({ item, place: index }))
}

/** The id that a reference names; a reference may leave its type out. */
function referenceOf(item: unknown): string | undefined {
  if (!isObject(item) || typeof item['id'] !== 'string') return undefined
  const isReference = item['type'] === 'item_reference' || (!isGiven(item['type']) && !isGiven(item['role']))
  return isReference ? item['id'] : undefined
}
