/** Keeps a finished answer for `previous_response_id`. It is paid for by then: whatever goes wrong here must not take it from its client. */

import type { Finished } from '../core/transcoder.ts'
import { describeBug } from '../observe/bug.ts'
import type { RelayParts } from './admitted.ts'

export function remember({ world, memory }: RelayParts, keyId: string, finish: () => Finished | undefined): void {
  try {
    const finished = finish()
    if (finished !== undefined) memory.remember(keyId, finished)
  } catch (error) {
    world.log.alarm('an answer could not be remembered', describeBug(error))
  }
}
