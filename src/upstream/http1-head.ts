/**
 * The head of an HTTP/1.x answer: status, fields, and how its body is delimited. Stricter than a browser: what two readers could understand in two ways is
 * refused, because the rest of the connection would then be somebody else's answer. Rules: platform.md "Sockets"; https://www.rfc-editor.org/rfc/rfc9112.
 */

export type AnswerHead = Readonly<{
  status: number
  isHttp10: boolean
  /** Names in lower case; what came several times is joined with ", ". */
  fields: Fields
}>

export type Fields = ReadonlyMap<string, string>

/** Bytes that are still to come, chunks, or all until the connection is closed. */
export type Framing = number | 'chunked' | 'close'

const FIELDS_MAX = 256
/** A space before an empty reason is often left out; a version other than 1.0 and 1.1 never belongs to this protocol. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t -~\x80-\xff]*)?$/
/** No blank before the colon or at the start of a line (folding), no control character: so neither a bare CR nor a bare LF. */
const FIELD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*$/
/** Fifteen digits are more than any body and less than what a number holds exactly. */
const LENGTH = /^\d{1,15}$/

const MINOR_AT = 'HTTP/1.'.length
const STATUS_AT = 'HTTP/1.1 '.length

/** `text` is the head as bytes, one character each, without its blank line. Undefined: malformed. */
export function readHead(text: string): AnswerHead | undefined {
  const [statusLine = '', ...lines] = text.split('\r\n')
  const fields = readFields(lines)
  if (fields === undefined || !STATUS_LINE.test(statusLine)) return undefined
  return { status: Number(statusLine.slice(STATUS_AT, STATUS_AT + 3)), isHttp10: statusLine[MINOR_AT] === '0', fields }
}

/** Undefined: malformed, or too many. */
export function readFields(lines: readonly string[]): Fields | undefined {
  if (lines.length > FIELDS_MAX) return undefined
  const fields = new Map<string, string>()
  for (const line of lines) {
    // Tested and cut by hand: what a match gives is an array with a copy of the line.
    if (!FIELD.test(line)) return undefined
    const colon = line.indexOf(':')
    const key = line.slice(0, colon).toLowerCase()
    const value = withoutBlanks(line.slice(colon + 1))
    const before = fields.get(key)
    fields.set(key, before === undefined ? value : `${before}, ${value}`)
  }
  return fields
}

/** Undefined where the fields contradict each other, or say what nobody should rely on. The request is never a HEAD. */
export function framingOf({ status, isHttp10, fields }: AnswerHead): Framing | undefined {
  const length = fields.get('content-length')
  const coding = fields.get('transfer-encoding')
  if (coding !== undefined)
    return length === undefined && !isHttp10 && coding.toLowerCase() === 'chunked' && hasBody(status) ? 'chunked' : undefined
  if (length === undefined) return hasBody(status) ? 'close' : 0
  // A second, equal length became "5, 5", which is refused as well.
  return LENGTH.test(length) && (hasBody(status) || Number(length) === 0) ? Number(length) : undefined
}

export function isKeptAlive({ isHttp10, fields }: AnswerHead): boolean {
  const connection = fields.get('connection')
  if (connection === undefined) return !isHttp10
  const options = connection.toLowerCase().split(',').map(withoutBlanks)
  return isHttp10 ? options.includes('keep-alive') && !options.includes('close') : !options.includes('close')
}

const hasBody = (status: number): boolean => status !== 204 && status !== 304

/** Spaces and tabs only: `trim` would also take a no-break space, and turn a malformed length into a length. */
function withoutBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
