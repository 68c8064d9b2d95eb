/** The door of an upstream, chosen once when the configuration is loaded. Rules: doors.md "Kinds". */

import type { DoorSettings } from '../../core/door.ts'
import type { Access } from '../native-request.ts'
import { claudeAwsDoor } from './claude-aws.ts'
import type { Door } from './door.ts'
import { nativeDoor } from './native.ts'
import { openaiDoor } from './openai.ts'

export function doorOf(door: DoorSettings, access: Access): Door {
  switch (door.kind) {
    case 'native':
    case 'foundry':
      return nativeDoor(access)
    case 'openai':
      return openaiDoor(door, access)
    case 'claude-aws':
      return claudeAwsDoor(door, access)
  }
}
