/** The items of a request: its own and those that it refers to, as one list. Rules: requests.md "Remembered answers"; responses.md "References". */

import type { Forgotten } from '../../format.ts'
import { isGiven, isObject, type JsonObject, NOT_A_STRING, REQUIRED } from '../../json.ts'
import { invalid, Refusal } from '../../refusal.ts'

/** `pathAt` names an item in a refusal: `input.3`, or the field that it came from. */
export type Items = Readonly<{ items: readonly unknown[]; pathAt: (index: number) => string }>

export type Recall = (id: string) => readonly unknown[] | Forgotten

/**
 * The items of the earlier answer come first. An item that is referred to twice counts once: otherwise a small body could grow without end. Unknown references
 * refuse the request, except those to reasoning, which a model can do without.
 */
export function readItems(body: JsonObject, recall: Recall): Items | Refusal {
  const earlier = readEarlier(body['previous_response_id'], recall)
  if (earlier instanceof Refusal) return earlier
  const own = readOwn(body['input'])
  if (own instanceof Refusal) return own
  if (earlier.length === 0 && !own.items.some(isReference)) return own
  const items: unknown[] = [...earlier]
  const paths: string[] = earlier.map(() => PREVIOUS)
  const add = (item: unknown, path: string): void => {
    items.push(item)
    paths.push(path)
  }
  const seen = new Set<string>()
  for (const [index, item] of own.items.entries()) {
    const id = referenceOf(item)
    if (id === undefined) add(item, own.pathAt(index))
    else if (!seen.has(id)) {
      seen.add(id)
      const found = recall(id)
      if (typeof found !== 'string') for (const known of found) add(known, own.pathAt(index))
      else if (!id.startsWith('rs_')) return unresolved(id, own.pathAt(index))
    }
  }
  return { items, pathAt: (index) => paths[index] ?? '' }
}

const isReference = (item: unknown): boolean => referenceOf(item) !== undefined

const ID_LENGTH_SHOWN_MAX = 100

const unresolved = (id: string, path: string): Refusal =>
  invalid(path, `item_reference "${id.slice(0, ID_LENGTH_SHOWN_MAX)}" cannot be resolved; send the full input (store: false)`)

const PREVIOUS = 'previous_response_id'

function readEarlier(id: unknown, recall: Recall): readonly unknown[] | Refusal {
  if (!isGiven(id)) return []
  if (typeof id !== 'string') return invalid(PREVIOUS, NOT_A_STRING)
  const found = recall(id)
  return typeof found === 'string' ? invalid(PREVIOUS, `${WHY_NOT[found]}; send the full input (store: false)`) : found
}

const WHY_NOT: Readonly<Record<Forgotten, string>> = {
  unknown: 'not found',
  expired: 'answers are kept for 60 minutes, and this one is older',
  crowded: 'is no longer kept: its room was needed for later answers',
}

function readOwn(input: unknown): Items | Refusal {
  if (!isGiven(input)) return invalid('input', REQUIRED)
  if (typeof input === 'string') return { items: [{ type: 'message', role: 'user', content: input }], pathAt: () => 'input' }
  if (!Array.isArray(input)) return invalid('input', 'Input should be a valid string or array')
  return input.length === 0 ? invalid('input', REQUIRED) : { items: input, pathAt: (index) => `input.${index}` }
}

/** The id that a reference names; a reference may leave its type out. */
function referenceOf(item: unknown): string | undefined {
  if (!isObject(item) || typeof item['id'] !== 'string') return undefined
  const isReference = item['type'] === 'item_reference' || (!isGiven(item['type']) && !isGiven(item['role']))
  return isReference ? item['id'] : undefined
}
