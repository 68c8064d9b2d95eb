/** What a reload would change, as a gateway tells a command over the operator's socket. Rules: operator.md "Socket", "Reload". */

import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { ReloadPreview } from '../config/reload-preview.ts'
import { orNull, shape } from './message-parts.ts'

const text = Type.String()
const one = <const Word extends string>(...words: readonly Word[]) => Type.Union(words.map((word) => Type.Literal(word)))
const problems = Type.Array(shape({ path: text, message: text }))
const setting = shape({
  setting: text,
  before: orNull(text),
  after: orNull(text),
  unit: orNull(one('usd_a_million_tokens', 'usd_a_use')),
  percent: orNull(Type.Number()),
})

const PREVIEW = shape({
  file: orNull(text),
  problems,
  changes: Type.Array(shape({ path: text, before: orNull(text), after: orNull(text) })),
  things: Type.Array(
    shape({
      kind: one('model', 'plan', 'upstream', 'gateway'),
      name: text,
      state: one('added', 'removed', 'changed'),
      changes: Type.Array(setting),
    }),
  ),
  needs_restart: Type.Array(text),
  without_effect: problems,
  digest: orNull(text),
})

/** Undefined when the text is not exactly one preview. */
export function readPreview(message: string): ReloadPreview | undefined {
  try {
    const value: unknown = JSON.parse(message)
    return Value.Check(PREVIEW, value) ? value : undefined
  } catch {
    return undefined
  }
}
