/** Binary frames as the cloud sends them, made by its vendor's own codec: the oracle of our decoder and of the simulator's encoder. */

import { EventStreamCodec } from '@smithy/eventstream-codec'

const CODEC = new EventStreamCodec(
  (bytes) => new TextDecoder().decode(bytes as Uint8Array),
  (text) => new TextEncoder().encode(text),
)

export function frameOf(headers: Readonly<Record<string, string>>, payload: string): Uint8Array {
  const typed = Object.entries(headers).map(([name, value]) => [name, { type: 'string', value }] as const)
  return CODEC.encode({ headers: Object.fromEntries(typed), body: new TextEncoder().encode(payload) })
}

/** A frame that the vendor's codec takes apart; it throws where a CRC is wrong. */
export function frameHeadersOf(frame: Uint8Array): Readonly<{ headers: Record<string, string>; payload: string }> {
  const { headers, body } = CODEC.decode(frame)
  const texts = Object.entries(headers).map(([name, { value }]) => [name, String(value)] as const)
  return { headers: Object.fromEntries(texts), payload: new TextDecoder().decode(body) }
}

/** Its order, and a padding that hides the event's length, are those of recordings. */
export const CHUNK_HEADERS = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' }

export const payloadOf = (event: string): string =>
  JSON.stringify({ bytes: Buffer.from(event).toString('base64'), p: 'abcdefghijklmnopqrstuvwxyzABCDEF'.slice(0, 1 + (event.length % 32)) })

export const chunkFrame = (event: string): Uint8Array => frameOf(CHUNK_HEADERS, payloadOf(event))

export const exceptionFrame = (kind: string, body: object): Uint8Array =>
  frameOf({ ':exception-type': kind, ':content-type': 'application/json', ':message-type': 'exception' }, JSON.stringify(body))
