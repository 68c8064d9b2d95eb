/** A whole answer without what its door added to it. Rules: native.md "Binary frames"; doors.md "Answers". */

import { DOOR_FIELD } from '../../core/aws-event-stream/invocation-metrics.ts'
import { fromBytes } from '../../core/bytes/byte-string.ts'
import { membersOf } from '../../core/bytes/json-scan.ts'
import { droppedFields, editBody } from '../../core/native/edit-body.ts'
import type { BodyDecoder } from './door.ts'

/** Many times the longest answer of a model. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
const SIGN = '"amazon-bedrock-'

export class WithoutDoorFields implements BodyDecoder {
  readonly #pieces: Uint8Array[] = []
  #length = 0

  push(piece: Uint8Array): Uint8Array | 'broken' {
    this.#length += piece.length
    if (this.#length > ANSWER_BYTES_MAX) return 'broken'
    this.#pieces.push(piece)
    return NOTHING
  }

  end(): Uint8Array {
    const bytes = Buffer.concat(this.#pieces)
    return bytes.includes(SIGN) && isJson(bytes) ? without(bytes) : bytes
  }
}

const NOTHING = new Uint8Array()

function without(bytes: Uint8Array): Uint8Array {
  const names = membersOf(fromBytes(bytes)).map(({ name }) => name)
  return editBody(bytes, droppedFields(names.filter((name) => DOOR_FIELD.test(name))), [])
}

/** Spans are meant for text that parses; what does not is for the reader of the answer to judge. */
function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}
