/**
 * The head of an HTTP/1.x answer: status, fields, and how its body is delimited. It is stricter than a browser: an ambiguous head is refused. Where two
 * readers disagree on where a body ends, one takes bytes of an answer for the answer to the next request. Rules: platform.md "Sockets";
 * https://www.rfc-editor.org/rfc/rfc9112.
 */

export type AnswerHead = Readonly<{
  status: number
  isHttp10: boolean
  fields: Fields
}>

/** The fields that this program reads, by name in lower case; repeated ones are joined with ", ". The other fields are checked and dropped. */
type Fields = ReadonlyMap<string, string>

/** How the body is delimited: by its length in bytes, by chunks, or by the end of the connection. */
export type Framing = number | 'chunked' | 'close'

const READ = [
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'request-id',
  'retry-after',
  'transfer-encoding',
  'x-amzn-errortype',
  'x-amzn-requestid',
  'x-request-id',
] as const
const READ_NAMES: ReadonlySet<string> = new Set(READ)
/** An answer has some twenty fields; for most of them the length of the name alone shows that they are not read. */
const READ_LENGTHS: ReadonlySet<number> = new Set(READ.map(({ length }) => length))

const FIELDS_MAX = 256
/** The space before an empty reason may be missing. Only HTTP/1.0 and HTTP/1.1 are taken. */
const STATUS_LINE = String.raw`HTTP/1\.[01] [1-9]\d\d(?: [\t -~\x80-\xff]*)?`
/** Refuses a blank before the colon, a blank at the start of a line (folding), and control characters, among them a bare CR or LF. */
const FIELD = String.raw`[!#$%&'*+.^_\`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*`
const HEAD = new RegExp(String.raw`^${STATUS_LINE}(?:\r\n${FIELD})*$`)
const LONE_FIELD = new RegExp(`^${FIELD}$`)
/** At most 15 digits: longer than any body, and below `Number.MAX_SAFE_INTEGER`. */
const LENGTH = /^\d{1,15}$/

const LINE_END = '\r\n'
const MINOR_AT = 'HTTP/1.'.length
const STATUS_AT = 'HTTP/1.1 '.length

/** `text` is the head with one character for each byte (latin1), without the blank line that ends it. Undefined: malformed, or too many fields. */
export function readHead(text: string): AnswerHead | undefined {
  if (!HEAD.test(text)) return undefined
  const fields = fieldsOf(text)
  if (fields === undefined) return undefined
  return { status: Number(text.slice(STATUS_AT, STATUS_AT + 3)), isHttp10: text[MINOR_AT] === '0', fields }
}

/** Whether a line of a trailer is a well-formed field. Its content is not read. */
export const isField = (line: string): boolean => LONE_FIELD.test(line)

/** The fields of a well-formed head. Undefined: too many. */
function fieldsOf(text: string): Fields | undefined {
  const fields = new Map<string, string>()
  let count = 0
  for (let lineEnd = text.indexOf(LINE_END); lineEnd !== -1; ) {
    if (++count > FIELDS_MAX) return undefined
    const start = lineEnd + LINE_END.length
    const colon = text.indexOf(':', start)
    lineEnd = text.indexOf(LINE_END, colon)
    if (!READ_LENGTHS.has(colon - start)) continue
    const name = text.slice(start, colon).toLowerCase()
    if (!READ_NAMES.has(name)) continue
    const value = withoutBlanks(text.slice(colon + 1, lineEnd === -1 ? text.length : lineEnd))
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return fields
}

/** How the body is delimited; undefined where the fields contradict each other or are ambiguous. The gateway sends no HEAD, so the answer to one is no case here. */
export function framingOf({ status, isHttp10, fields }: AnswerHead): Framing | undefined {
  const length = fields.get('content-length')
  const coding = fields.get('transfer-encoding')
  if (coding !== undefined)
    return length === undefined && !isHttp10 && coding.toLowerCase() === 'chunked' && hasBody(status) ? 'chunked' : undefined
  if (length === undefined) return hasBody(status) ? 'close' : 0
  // A repeated `Content-Length: 5` was joined to "5, 5", which is refused as well.
  return LENGTH.test(length) && (hasBody(status) || Number(length) === 0) ? Number(length) : undefined
}

export function isKeptAlive({ isHttp10, fields }: AnswerHead): boolean {
  const connection = fields.get('connection')?.toLowerCase()
  if (connection === undefined) return !isHttp10
  if (connection === 'keep-alive') return true
  const options = connection.split(',').map(withoutBlanks)
  return isHttp10 ? options.includes('keep-alive') && !options.includes('close') : !options.includes('close')
}

const hasBody = (status: number): boolean => status !== 204 && status !== 304

/** Strips spaces and tabs only: `trim` would also take a no-break space, and turn a malformed length into a length. */
function withoutBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09
