/** Google's managed models: project, place and model in the path, the version in the body. Rules: doors.md "Kinds", "Edits". */

import { ascii, encodeJson } from '../../core/bytes/byte-string.ts'
import type { GoogleProof } from '../../core/door.ts'
import type { Access } from '../native-request.ts'
import type { UpstreamRequest } from '../upstream.ts'
import { doorVersion } from './bedrock-invoke.ts'
import type { Door } from './door.ts'
import { nativeDoor } from './native.ts'
import { pathSegment } from './path-segment.ts'
import { type EditLists, requestEdit } from './request-edit.ts'
import { googleProof } from './tokens/google.ts'

type Settings = Readonly<{ project: string; location: string; proof: GoogleProof; apiVersion: string | undefined }>

/** What this door takes elsewhere than in the body, or in its own words. */
export const VERTEX_WITHOUT = ['model', 'anthropic_version']
/** The door's name for the format's first version. */
const FIRST_VERSION = 'vertex-2023-10-16'
const COUNT_PATH = '/v1/messages/count_tokens'

export function vertexDoor({ project, location, proof, apiVersion }: Settings, edits: EditLists, access: Access): Door {
  const models = `/v1/projects/${pathSegment(project)}/locations/${pathSegment(location)}/publishers/anthropic/models`
  const own = ({ version }: UpstreamRequest) => ascii`"anthropic_version":${encodeJson(apiVersion ?? doorVersion(version, FIRST_VERSION))}`
  const edit = requestEdit(edits, { without: VERTEX_WITHOUT, added: (asked) => [own(asked)], hasNoVersion: true })
  const countEdit = requestEdit(edits, {
    without: VERTEX_WITHOUT,
    added: (asked) => [ascii`"model":${encodeJson(asked.model.upstreamModel.replace(/@(?:default|latest)$/, ''))}`, own(asked)],
    hasNoVersion: true,
  })
  return {
    ...nativeDoor(access),
    ...googleProof(proof),
    ...(edit && countEdit && { edit: (asked) => (asked.path === COUNT_PATH ? countEdit : edit)(asked) }),
    target({ path, model, isStream }) {
      if (path === COUNT_PATH) return `${models}/count-tokens:rawPredict`
      return `${models}/${pathSegment(model.upstreamModel)}:${isStream ? 'streamRawPredict' : 'rawPredict'}`
    },
  }
}
