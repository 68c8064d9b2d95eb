/** Bedrock's own way to call a model: its id in the path, version and betas in the body, streams in binary frames. Rules: doors.md "Kinds", "Edits". */

import { DOOR_PREFIX } from '../../core/aws-event-stream/invocation-metrics.ts'
import { ascii, encodeJson } from '../../core/bytes/byte-string.ts'
import type { AwsProof } from '../../core/door.ts'
import type { Access } from '../native-request.ts'
import type { UpstreamRequest } from '../upstream.ts'
import { awsProof } from './aws/proof.ts'
import { inBase64 } from './base64-pieces.ts'
import { binaryFramesDecoder } from './binary-frames.ts'
import type { Door, Pieces } from './door.ts'
import { nativeDoor } from './native.ts'
import { pathSegment } from './path-segment.ts'
import { type EditLists, requestEdit } from './request-edit.ts'
import { tokenCount } from './token-count.ts'

type Settings = Readonly<{ proof: AwsProof; apiVersion: string | undefined }>

/** What this door takes elsewhere than in the body. */
export const INVOKE_WITHOUT = ['model', 'stream', 'anthropic_version', 'anthropic_beta']
/** The door's name for the format's first version. */
const FIRST_VERSION = 'bedrock-2023-05-31'
const COUNT_PATH = '/v1/messages/count_tokens'

export function bedrockInvokeDoor({ proof, apiVersion }: Settings, edits: EditLists, access: Access): Door {
  const edit = requestEdit(edits, {
    without: INVOKE_WITHOUT,
    added: ({ version, path }, { hasMaxTokens }) => [
      ...(path === COUNT_PATH && !hasMaxTokens ? [ascii`"max_tokens":1`] : []),
      ascii`"anthropic_version":${encodeJson(apiVersion ?? doorVersion(version, FIRST_VERSION))}`,
    ],
    hasNoVersion: true,
    betasInBody: true,
  })
  return {
    ...nativeDoor(access),
    ...awsProof(proof),
    ...(edit && {
      edit: (asked) => {
        const request = edit(asked)
        return asked.path === COUNT_PATH && !(request.sent instanceof Promise) ? { ...request, sent: countBody(request.sent) } : request
      },
    }),
    target: targetOf,
    addedPrefix: DOOR_PREFIX,
    reading({ path }, contentType, { onCountDiffers = NO_NOTE }) {
      if (path === COUNT_PATH) return contentType.includes('json') ? tokenCount('inputTokens') : undefined
      return contentType.startsWith(FRAMES) ? { isEventStream: true, decoder: binaryFramesDecoder(onCountDiffers) } : undefined
    },
  }
}

const FRAMES = 'application/vnd.amazon.eventstream'
const NO_NOTE = (): void => undefined

function targetOf({ path, model, isStream }: UpstreamRequest): string {
  const id = model.upstreamModel
  if (path === COUNT_PATH) return `/model/${pathSegment(id.replace(REGION_PREFIX, ''))}/count-tokens`
  return `/model/${pathSegment(id)}/${isStream ? 'invoke-with-response-stream' : 'invoke'}`
}

/** The prefix is left out in a count: the model itself counts tokens, wherever it runs. */
const REGION_PREFIX = /^(?:global|us|us-gov|eu|jp|apac|au)\.(?=anthropic\.)/

/** The first version has another name on each cloud; later versions have the vendor's own name. */
export const doorVersion = (version: string, first: string): string => (version === '2023-06-01' ? first : version)

/** The door counts the tokens of an invocation's body. */
function countBody(invocation: Pieces): Pieces | Promise<Pieces> {
  const around = (encoded: Pieces): Pieces => [Buffer.from('{"input":{"invokeModel":{"body":"'), ...encoded, Buffer.from('"}}}')]
  const encoded = inBase64(invocation)
  return encoded instanceof Promise ? encoded.then(around) : around(encoded)
}
