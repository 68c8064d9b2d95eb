/**
 * Which conversation a request belongs to, so that it stays where its prompt cache is warm. Rules: pool.md "Affinity".
 *
 * Only a bounded part of a request is read: routing needs a key that is the same in every turn of a conversation, not one that no two conversations share.
 */

import { isObject } from './json.ts'

/** What stands at the beginning of every turn of a conversation, in native or in the client's own words. */
export type Opening = Readonly<{ modelId: string; system: unknown; tools: unknown; firstUserTurn: unknown }>

/** Ids that the client gave, in the order of the rules; an id that is not a string, or is blank, counts as not given. */
export type GivenIds = Readonly<{ userId?: unknown; promptCacheKey?: unknown; sessionHeader?: unknown }>

/** The client's own id of the conversation, else the opening's words. The caller salts it with the account and hashes it before keeping or comparing it. */
export function conversationOf({ userId, promptCacheKey, sessionHeader }: GivenIds, opening: () => Opening): string {
  const id = sessionOf(userId) ?? textOf(promptCacheKey) ?? textOf(sessionHeader)
  if (id !== undefined) return `id\n${id}`
  const { modelId, system, tools, firstUserTurn } = opening()
  return `opening\n${modelId}\n${excerptOf(system)}\n${excerptOf(tools)}\n${excerptOf(firstUserTurn)}`
}

/** The header by which a client may name its conversation. */
export const SESSION_HEADER = 'x-session-id'

export const isUserTurn = (turn: unknown): boolean => isObject(turn) && turn['role'] === 'user'

/** The most characters that are read of each part of the opening. */
const EXCERPT_LENGTH_MAX = 4_096
const ID_LENGTH_MAX = 512
/** Text below this depth is left out: the first words of a body are rarely deep. */
const DEPTH_MAX = 16

const textOf = (id: unknown): string | undefined => (typeof id === 'string' && id.trim() !== '' ? id.slice(0, ID_LENGTH_MAX) : undefined)

/** Agents put the session into `metadata.user_id`, as `…_session_ID` or as JSON with `session_id`; any other user id names a person with many conversations. */
function sessionOf(userId: unknown): string | undefined {
  if (typeof userId !== 'string') return undefined
  const named = /_session_([\w-]+)/.exec(userId.slice(0, ID_LENGTH_MAX))?.[1]
  return named ?? (userId.startsWith('{') ? textOf(memberOf(userId, 'session_id')) : undefined)
}

function memberOf(json: string, name: string): unknown {
  if (json.length > ID_LENGTH_MAX) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value[name] : undefined
  } catch {
    return undefined
  }
}

/** The texts inside a JSON value, in order, as far as they fit. A cache marker moves from turn to turn, so the excerpt leaves it out. */
function excerptOf(value: unknown, excerpt = '', depth = 0): string {
  if (excerpt.length >= EXCERPT_LENGTH_MAX || depth > DEPTH_MAX) return excerpt
  if (typeof value === 'string') return `${excerpt}${value.slice(0, EXCERPT_LENGTH_MAX - excerpt.length)}\n`
  let longer = excerpt
  if (Array.isArray(value)) {
    for (const item of value) {
      if (longer.length >= EXCERPT_LENGTH_MAX) break
      longer = excerptOf(item, longer, depth + 1)
    }
  } else if (isObject(value)) {
    for (const name in value) {
      if (name !== 'cache_control') longer = excerptOf(value[name], longer, depth + 1)
    }
  }
  return longer
}
