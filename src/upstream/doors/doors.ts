/** The door of an upstream, chosen once when the configuration is loaded. Rules: doors.md "Kinds". */

import type { DoorSettings, Kind, RequestEdits } from '../../core/door.ts'
import type { Access } from '../native-request.ts'
import { awsProof } from './aws/proof.ts'
import { bedrockInvokeDoor, INVOKE_WITHOUT } from './bedrock-invoke.ts'
import { allEdits } from './default-edits.ts'
import type { Door } from './door.ts'
import { nativeDoor } from './native.ts'
import { openaiDoor } from './openai.ts'
import { requestEdit } from './request-edit.ts'
import { entraProof } from './tokens/entra.ts'
import { googleProof } from './tokens/google.ts'
import { VERTEX_WITHOUT, vertexDoor } from './vertex.ts'

/** Whether a door gets requests otherwise than the client wrote them. */
export const isEdited = ({ door: { kind }, edits }: Readonly<{ door: Pick<DoorSettings, 'kind'>; edits: RequestEdits }>): boolean =>
  REWRITING.has(kind) || requestEdit(allEdits(kind, edits)) !== undefined

/** Whatever their settings say. */
const REWRITING: ReadonlySet<string> = new Set(['bedrock-invoke', 'vertex', 'openai'])

/** The paths of what a door cuts out of a body, so that they can be found where the body is read. */
export function droppedPaths({
  door: { kind },
  edits,
}: Readonly<{ door: Pick<DoorSettings, 'kind'>; edits: RequestEdits }>): readonly string[] {
  if (kind === 'openai') return []
  return [...(WITHOUT[kind] ?? []), ...allEdits(kind, edits).dropFields]
}

const WITHOUT: Readonly<Partial<Record<Kind, readonly string[]>>> = { 'bedrock-invoke': INVOKE_WITHOUT, vertex: VERTEX_WITHOUT }

/** `own`: the edits of requests that the operator has set, beside what the kind demands. */
export function doorOf(settings: DoorSettings, own: RequestEdits, access: Access): Door {
  const edits = allEdits(settings.kind, own)
  const edit = requestEdit(edits)
  const native = { ...nativeDoor(access), ...(edit && { edit }) }
  switch (settings.kind) {
    case 'native':
      return native
    case 'openai':
      return openaiDoor(settings, access)
    case 'claude-aws':
      return { ...native, ...awsProof(settings.proof), fields: { 'anthropic-workspace-id': settings.workspace, ...native.fields } }
    case 'bedrock':
      return { ...native, ...awsProof(settings.proof) }
    case 'bedrock-invoke':
      return bedrockInvokeDoor(settings, edits, access)
    case 'vertex':
      return vertexDoor(settings, edits, access)
    case 'claude-google':
      return { ...native, ...googleProof(settings.proof) }
    case 'foundry':
      return { ...native, ...entraProof(settings.proof) }
  }
}
