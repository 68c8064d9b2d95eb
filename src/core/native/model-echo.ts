/**
 * Whether the model that an answer names is the one that was asked for. Snapshots of one model count as the same model, and so do the names that clouds give it. Rules:
 * native.md "Other servers".
 */

/** What happens when the answer names another model. any: nothing · alarm: the operator is told · fail: the answer is refused. */
export type Echo = (typeof ECHOES)[number]
export const ECHOES = ['any', 'alarm', 'fail'] as const

const CLOUD_PREFIX = /^(?:[a-z-]{2,12}\.)?anthropic\./
const SNAPSHOT = /(?:-v\d+(?::\d+)?|[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|default))$/
/** The address of a cloud resource, which does not name the model. */
const ADDRESS = /^arn:/

/** `named` is whatever the answer has as its model; an answer that names none counts as the same model. */
export function isSameModel(asked: string, named: unknown): boolean {
  if (typeof named !== 'string' || named === '' || ADDRESS.test(asked)) return true
  return named === asked || modelOf(named) === modelOf(asked)
}

function modelOf(id: string): string {
  const bare = id.toLowerCase().replace(CLOUD_PREFIX, '')
  const earlier = bare.replace(SNAPSHOT, '')
  return earlier === bare ? bare : modelOf(earlier)
}
