/** A server-sent event as we write it: LF, one `data:` line, one blank line. Rules: native.md "Stream". */

import { ascii, type ByteString, encode } from '../bytes/byte-string.ts'

export const writeEvent = (type: string, data: ByteString): ByteString => ascii`event: ${encode(type)}\ndata: ${data}\n\n`
