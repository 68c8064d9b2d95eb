/** The chat completions format. Rules: contract.md "Endpoints". */

import type { Format } from '../../format.ts'
import { readChatRequest } from './request.ts'
import { chatResponse } from './response.ts'
import { ChatTranscoder } from './stream.ts'
import type { ChatEcho } from './wire.ts'

export const chatFormat: Format<ChatEcho> = {
  name: 'chat',
  read: readChatRequest,
  respond: chatResponse,
  transcoder: (call, stamp) => new ChatTranscoder(call, stamp),
}
