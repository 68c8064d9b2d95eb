/** Claude Platform on AWS: the native format, and each call names the workspace that answers for it. Rules: doors.md "Kinds". */

import type { Access } from '../native-request.ts'
import type { Door } from './door.ts'
import { nativeDoor } from './native.ts'

export const claudeAwsDoor = ({ workspace }: Readonly<{ workspace: string }>, access: Access): Door =>
  nativeDoor(access, { 'anthropic-workspace-id': workspace })
