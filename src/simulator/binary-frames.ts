/** Native events in the binary frames in which Bedrock's `invoke-with-response-stream` sends them. Rules: native.md "Binary frames". */

const PRELUDE_BYTES = 8
const CRC_BYTES = 4
const TEXT = 7
const PADDING = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

type Headers = Readonly<Record<string, string>>

const CHUNK: Headers = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' }

/** `json`: the JSON of one native event. Padding hides the event's length. */
export function chunkFrame(json: string): Uint8Array {
  const padding = PADDING.slice(0, 1 + (json.length % PADDING.length))
  return binaryFrame(CHUNK, JSON.stringify({ bytes: Buffer.from(json).toString('base64'), p: padding }))
}

/** A frame that ends the stream with an error. `kind` is a name such as `throttlingException`. */
export const exceptionFrame = (kind: string, fields: Readonly<Record<string, unknown>>): Uint8Array =>
  binaryFrame({ ':exception-type': kind, ':content-type': 'application/json', ':message-type': 'exception' }, JSON.stringify(fields))

function binaryFrame(headers: Headers, payload: string): Uint8Array {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => headerBytes(name, value)))
  const body = Buffer.from(payload)
  const prelude = withLengths(PRELUDE_BYTES + head.length + body.length + 2 * CRC_BYTES, head.length)
  const whole = Buffer.concat([prelude, crcOf(prelude), head, body])
  return Buffer.concat([whole, crcOf(whole)])
}

function headerBytes(name: string, value: string): Uint8Array {
  const text = Buffer.from(value)
  return Buffer.concat([Uint8Array.of(name.length), Buffer.from(name), Uint8Array.of(TEXT, text.length >>> 8, text.length & 0xff), text])
}

function withLengths(...lengths: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(PRELUDE_BYTES)
  for (const [index, length] of lengths.entries()) bytes.writeUInt32BE(length, 4 * index)
  return bytes
}

const crcOf = (bytes: Uint8Array): Uint8Array => {
  const crc = Buffer.alloc(CRC_BYTES)
  crc.writeUInt32BE(Bun.hash.crc32(bytes))
  return crc
}
