/** The door of servers of the chat format: OpenAI's own, vLLM, llama.cpp and all that speak as they do. Rules: doors.md "Kinds"; openai.md "Settings". */

import type { ChatDoorSettings } from '../../core/door.ts'
import type { Access } from '../native-request.ts'
import type { Door } from './door.ts'
import { nativeDoor } from './native.ts'

/** The request is in chat already: it was written in this server's manner when it was read. */
export const openaiDoor = ({ dialect: { reasoning }, isFinishedAlone }: ChatDoorSettings, access: Access): Door => ({
  ...nativeDoor(access),
  chat: { chat: { reasoning }, isFinishedAlone },
})
