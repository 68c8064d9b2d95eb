/** A body in the cloud's binary frames, as the native stream inside it. Rules: native.md "Binary frames"; doors.md "Kinds". */

import { crc32 } from 'node:zlib'
import { EventStreamDecoder } from '../../core/aws-event-stream/decoder.ts'
import type { CountDifference } from '../../core/aws-event-stream/invocation-metrics.ts'
import type { BodyDecoder } from './door.ts'

/** `onDifference`: called when the door counted the answer otherwise than the answer's own usage does. */
export function binaryFramesDecoder(onDifference: (difference: CountDifference) => void): BodyDecoder {
  const decoder = new EventStreamDecoder({ crc32, onDifference })
  return {
    push(piece) {
      const events = decoder.push(piece)
      // Events that came before the break still count.
      return decoder.isBroken && events.length === 0 ? 'broken' : events
    },
    end: () => (decoder.isBroken || !decoder.isBetweenFrames ? 'broken' : NOTHING),
  }
}

const NOTHING = new Uint8Array()
