/** A server-sent event as we write it: LF, one `data:` line, one blank line. Rules: native.md "Stream". */

import { type ByteString, encodeJson } from '../bytes/byte-string.ts'

export const writeEvent = (type: string, data: ByteString): ByteString => `event: ${type}\ndata: ${data}\n\n` as ByteString

/** A native event: its data names its type too. */
export const writeNativeEvent = (type: string, fields: Readonly<Record<string, unknown>> = {}): ByteString =>
  writeEvent(type, encodeJson({ type, ...fields }))
