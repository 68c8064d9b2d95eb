/** Bedrock's own way to call a model: its id in the path, version and betas in the body, streams in binary frames. Rules: doors.md "Kinds", "Edits". */

import { DOOR_PREFIX } from '../../core/aws-event-stream/invocation-metrics.ts'
import { ascii, encodeJson } from '../../core/bytes/byte-string.ts'
import type { AwsProof } from '../../core/door.ts'
import type { Access } from '../native-request.ts'
import type { UpstreamRequest } from '../upstream.ts'
import { awsProof } from './aws/proof.ts'
import { binaryFramesDecoder } from './binary-frames.ts'
import type { Door } from './door.ts'
import { nativeDoor } from './native.ts'
import { pathSegment } from './path-segment.ts'
import { type EditLists, requestEdit } from './request-edit.ts'
import { tokenCount } from './token-count.ts'

type Settings = Readonly<{ proof: AwsProof; apiVersion: string | undefined }>

/** The door's name for the format's first version. */
const FIRST_VERSION = 'bedrock-2023-05-31'
const COUNT_PATH = '/v1/messages/count_tokens'

export function bedrockInvokeDoor({ proof, apiVersion }: Settings, edits: EditLists, access: Access): Door {
  const edit = requestEdit(edits, {
    without: ['model', 'stream', 'anthropic_version', 'anthropic_beta'],
    added: ({ version }) => [ascii`"anthropic_version":${encodeJson(apiVersion ?? doorVersion(version, FIRST_VERSION))}`],
    hasNoVersion: true,
    betasInBody: true,
  })
  return {
    ...nativeDoor(access),
    ...awsProof(proof),
    edit: (asked) => {
      const request = edit?.(asked) ?? asked
      return asked.path === COUNT_PATH ? { ...request, body: countBody(request.body) } : request
    },
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

/** The door counts the tokens of an invocation's body, in which it demands `max_tokens`. */
function countBody(body: Uint8Array): Uint8Array {
  const text = Buffer.from(body)
  const whole = text.includes('"max_tokens"')
    ? text
    : Buffer.concat([Buffer.from('{"max_tokens":1,'), text.subarray(text.indexOf('{') + 1)])
  return Buffer.from(`{"input":{"invokeModel":{"body":"${whole.toString('base64')}"}}}`)
}
