/** A request as the bytes of HTTP/1.1. Rules: platform.md "Sockets"; https://www.rfc-editor.org/rfc/rfc9112#section-3. */

/** A body up to this size is copied behind its head, and both leave in one write; a larger one is not copied. */
const COPIED_BYTES_MAX = 64 * 1024

/**
 * All of a request's head but the length of its body. Undefined: a field's value cannot be sent. A line break in a value would begin a field of its sender's choice.
 */
export function requestHead(target: string, host: string, fields: Readonly<Record<string, string>>): Uint8Array | undefined {
  const lines = fieldLines(fields)
  return lines === undefined ? undefined : Buffer.from(`POST ${sendable(target)} HTTP/1.1\r\nhost: ${host}\r\n${lines}`, 'latin1')
}

/** Undefined: a field's value cannot be sent. */
export function fieldLines(fields: Readonly<Record<string, string>>): string | undefined {
  let lines = ''
  for (const name in fields) {
    const value = fields[name] ?? ''
    if (!PLAIN.test(value)) return undefined
    lines += `${name}: ${value}\r\n`
  }
  return lines
}

const PLAIN = /^[\t -~]*$/

/** `own`: the lines of the fields that this request alone has, as `fieldLines` writes them. */
export function requestBytes(headOfAll: Uint8Array, body: readonly Uint8Array[], own = ''): readonly Uint8Array[] {
  let length = 0
  for (const piece of body) length += piece.length
  const end = `${own}content-length: ${length}\r\n\r\n`
  if (length > COPIED_BYTES_MAX) return [joined(headOfAll, end, NO_BODY, 0), ...body]
  return [joined(headOfAll, end, body, length)]
}

const NO_BODY: readonly Uint8Array[] = []

/** `end` is ASCII, and mostly so short that writing its characters one by one is faster. */
function joined(head: Uint8Array, end: string, body: readonly Uint8Array[], length: number): Uint8Array {
  const endAt = head.length
  let at = endAt + end.length
  const bytes = new Uint8Array(at + length)
  bytes.set(head)
  for (let index = 0; index < end.length; index++) bytes[endAt + index] = end.charCodeAt(index)
  for (const piece of body) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

/** Characters that a request line must not hold are percent-encoded, as browsers do. */
const sendable = (target: string): string =>
  /^[!-~]*$/.test(target) ? target : target.replace(/[^!-~]+/gu, (text) => encodeURIComponent(text.toWellFormed()))
