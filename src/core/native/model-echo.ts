/**
 * Whether the model that an answer names is the one that was asked for. Snapshots of one model are the same, and so are the spellings of the clouds. Rules:
 * native.md "Other servers".
 */

/** What an operator wants where it is another one: nothing, an alarm, or no such answer. */
export type Echo = (typeof ECHOES)[number]
export const ECHOES = ['any', 'alarm', 'fail'] as const

const CLOUD_PREFIX = /^(?:[a-z-]{2,12}\.)?anthropic\./
const SNAPSHOT = /(?:-v\d+(?::\d+)?|[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|default))$/
/** An address of a cloud's resource says nothing of the model. */
const ADDRESS = /^arn:/

/** `named` is whatever stands in the answer; one that names none has not named another. */
export function isSameModel(asked: string, named: unknown): boolean {
  if (typeof named !== 'string' || named === '' || ADDRESS.test(asked)) return true
  return named === asked || modelOf(named) === modelOf(asked)
}

function modelOf(id: string): string {
  const bare = id.toLowerCase().replace(CLOUD_PREFIX, '')
  const earlier = bare.replace(SNAPSHOT, '')
  return earlier === bare ? bare : modelOf(earlier)
}
