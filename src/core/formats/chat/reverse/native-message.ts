/** Makes the native message that is equivalent to a whole chat completion. Rules: openai.md "Blocks", "Ends", "Usage". */

import type { ReasoningSetting } from '../../../chat-dialect.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import type { NativeError } from '../../../native/error.ts'
import { ownSignature } from '../../../native/own-signature.ts'
import { InputMaker, nativeJson, readArguments } from '../../translate/arguments.ts'
import { nativeCallId } from './call-id.ts'
import { type Called, callsOf, choiceOf, errorOf, reasoningOf, textOf } from './chunk.ts'
import { nativeId, partsOf } from './native-stream.ts'
import { nativeStopReason } from './stop-reason.ts'
import { nativeUsage } from './usage.ts'

export type NativeMessageOptions = Readonly<{ reasoning: ReasoningSetting; id: string }>

/** The message as JSON; the error where the answer holds one; undefined where it holds neither. */
export function nativeMessage(json: unknown, { reasoning: setting, id }: NativeMessageOptions): string | NativeError | undefined {
  if (!isObject(json)) return undefined
  const choice = choiceOf(json)
  const error = errorOf(json, choice)
  if (error !== undefined) return error
  if (choice === undefined) return undefined
  const { delta: message, finish } = choice
  const reasoning = reasoningOf(message, setting)
  const text = textOf(message['content']) ?? partsOf(message['content'])
  const denial = textOf(message['refusal'])
  const said = text ?? denial
  const calls = callsOf(message)
  const inputs = new InputMaker()
  const blocks = [
    ...(reasoning === undefined
      ? []
      : [JSON.stringify({ type: 'thinking', thinking: reasoning.said, signature: ownSignature(reasoning.field) })]),
    ...(said === undefined ? [] : [JSON.stringify({ type: 'text', text: said })]),
    ...calls.map((call, position) =>
      nativeJson({ type: 'tool_use', ...calledOf(call, position, id), input: inputs.input(readArguments(call.args)) }),
    ),
  ]
  const stopSequence = textOf(choice.choice['stop_reason'])
  const stopReason = nativeStopReason(finish, { hasCalls: calls.length > 0, isDenial: denial !== undefined, stopSequence })
  const head = {
    id: nativeId(json['id'], id),
    type: 'message',
    role: 'assistant',
    model: textOf(json['model']) ?? '',
    stop_reason: stopReason,
    stop_sequence: stopReason === 'stop_sequence' ? stopSequence : null,
    ...usageOf(json['usage'], choice.choice['usage']),
  }
  return `${JSON.stringify(head).slice(0, -1)},"content":[${blocks.join(',')}]}`
}

const calledOf = ({ id, name }: Called, position: number, answerId: string): Readonly<{ id: string; name: string }> => ({
  id: nativeCallId(id, position, answerId),
  name: name ?? '',
})

/** The usage from the first place that has one: some servers put it into the choice. */
function usageOf(...places: readonly unknown[]): JsonObject {
  const usage = places.map(nativeUsage).find((found) => found !== undefined)
  return usage === undefined ? {} : { usage }
}
