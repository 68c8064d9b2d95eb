/** What the reader of a request may look up: models and earlier answers. Rules: house.md "One request"; requests.md "Remembered answers". */

import { modelOf } from '../core/catalog.ts'
import type { ReadContext } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import type { World } from '../world.ts'

/** Models are those of the catalogue as it is now, whatever a reload brings while the request is read. */
export function readContext(world: World, request: Request, key: KeyRecord, recall: ReadContext['recall']): ReadContext {
  const catalog = world.catalog()
  const planCapPicos = catalog.plans.get(key.plan)?.maxRequestPicos
  const find: ReadContext['find'] = (modelId) => modelOf(catalog, key.plan, modelId)
  return { headers: request.headers, find, recall, sha256Hex, planCapPicos, tagsUserIds: key.tagsUserIds }
}

/** The engine's own hash: 30 MiB take it 20 ms. */
export const sha256Hex = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')
