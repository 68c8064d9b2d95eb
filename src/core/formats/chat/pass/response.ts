/** A whole chat completion to a chat client, under our id and our name of the model. Rules: openai.md "Chat answers", "Usage"; contract.md "Chat answer". */

import { utf8Bytes } from '../../../bytes/byte-string.ts'
import { parseExact } from '../../../bytes/exact-json.ts'
import type { ReasoningSetting } from '../../../chat-dialect.ts'
import type { Call, Stamp } from '../../../format.ts'
import { isGiven, isObject } from '../../../json.ts'
import type { NativeMessage } from '../../../native/message.ts'
import { choiceOf } from '../reverse/chunk.ts'
import { partsOf } from '../reverse/native-stream.ts'
import { chatUsage } from '../usage.ts'
import { type ChatEcho, completionId } from '../wire.ts'
import { allowedFinish, allowedMessage, wholeCalls } from './allowed.ts'

/** `text`: the completion; `message`: the equivalent native message, whose figures are billed. */
export function passedCompletion(
  text: string,
  message: NativeMessage,
  reasoning: ReasoningSetting,
  call: Call<ChatEcho>,
  stamp: Stamp,
): Uint8Array {
  const json = parseExact(text)
  const choice = isObject(json) ? choiceOf(json) : undefined
  const said = choice?.delta ?? {}
  const allowed = allowedMessage(said, reasoning === 'none')
  const calls = wholeCalls(said, stamp.requestId)
  if (calls.length > 0) allowed['tool_calls'] = calls
  const hasCalls = calls.length > 0 || allowed['function_call'] !== undefined
  const content = typeof allowed['content'] === 'string' ? allowed['content'] : (partsOf(allowed['content']) ?? '')
  const logprobs = choice?.choice['logprobs']
  const completion = {
    id: completionId(undefined, stamp.requestId),
    object: 'chat.completion',
    created: stamp.createdSeconds,
    model: call.model.id,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...allowed, content },
        logprobs: isGiven(logprobs) ? logprobs : null,
        finish_reason: allowedFinish(choice?.finish, { hasCalls, isLegacy: allowed['function_call'] !== undefined }),
      },
    ],
    usage: chatUsage(message.observation, call),
  }
  return utf8Bytes(JSON.stringify(completion))
}
