/** What the bot says to an update, before it is sent. Rules: pages.md "Telegram". */

import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Outgoing } from '../../telegram/bot-api.ts'

/** What the bot has asked for: the next text that is no command is the answer to it. */
const QUESTION = Type.Union([
  Type.Object({ asks: Type.Literal('key name') }),
  Type.Object({ asks: Type.Literal('key limit'), keyId: Type.String() }),
  Type.Object({ asks: Type.Literal('top-up') }),
])
export type Question = Static<typeof QUESTION>

/**
 * `says`: messages, one after the other; where a button was pressed, the first takes the place of the message with the button, unless `isApart`. `hint`: shown for a moment
 * to whom pressed it. `buttons`: what stands from now on under the message with the button.
 */
export type Said = Readonly<{
  says: readonly Outgoing[]
  isApart?: boolean
  hint?: string
  buttons?: NonNullable<Outgoing['buttons']>
  question?: Question
  /** It says why something was not done. */
  isRefused?: boolean
}>

export const say = (text: string, more: Omit<Outgoing, 'text'> = {}): Said => ({ says: [{ text, ...more }] })

/** The sentence of a refusal, as the cabinet's pages show it. */
export async function saidOf(refusal: Response): Promise<Said> {
  // In a chat there are no addresses: what is missing here is a key of an old button.
  if (refusal.status === 404) return { ...say('This is not there any more.'), isRefused: true }
  const { error } = (await refusal.json()) as { error: { message: string } }
  return { ...say(error.message), isRefused: true }
}

/** Undefined: the bot has asked nothing, or an older program asked it. */
export function questionOf(text: string | null): Question | undefined {
  const value: unknown = text === null ? undefined : JSON.parse(text)
  return Value.Check(QUESTION, value) ? value : undefined
}
