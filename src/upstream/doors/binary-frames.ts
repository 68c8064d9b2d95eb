/** A body in the cloud's binary frames, as the native stream inside it. Rules: native.md "Binary frames"; doors.md "Kinds". */

import { crc32 } from 'node:zlib'
import { EventStreamDecoder } from '../../core/aws-event-stream/decoder.ts'
import type { CountDifference } from '../../core/aws-event-stream/invocation-metrics.ts'
import type { BodyDecoder } from './door.ts'

/** `onDifference`: called when the door counted the answer otherwise than the answer's own usage does. */
export const binaryFramesDecoder = (onDifference: (difference: CountDifference) => void): BodyDecoder =>
  new EventStreamDecoder({ crc32, onDifference })
