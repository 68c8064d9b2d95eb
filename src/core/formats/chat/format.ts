/** The chat completions format. Rules: contract.md "Endpoints". */

import type { Format } from '../../format.ts'
import { EitherStream } from './either.ts'
import { passedCompletion } from './pass/response.ts'
import { PassedStream } from './pass/stream.ts'
import { readChatRequest } from './request.ts'
import { chatResponse } from './response.ts'
import { ChatTranscoder } from './stream.ts'
import type { ChatEcho } from './wire.ts'

export const chatFormat: Format<ChatEcho> = {
  name: 'chat',
  read: readChatRequest,
  respond: chatResponse,
  transcoder: (call, stamp) => {
    const { chat, isNative } = call.model
    if (chat.length === 0) return new ChatTranscoder(call, stamp)
    return isNative ? new EitherStream(call, stamp) : new PassedStream(call, stamp)
  },
  pass: passedCompletion,
}
