/** Generates the record in which a receipt crosses to the ledger's thread and waits in a spill: numbers, amounts, hashes, then texts, each at its place. */

import { type Beside, type Column, givenOf, type Words } from './column.ts'

export type RecordOrder = Readonly<{
  floats: readonly (string | Beside)[]
  amounts: readonly string[]
  hashes: readonly (string | Beside)[]
  /** A list for each later version of the record, behind the texts. */
  later: readonly (readonly (string | Beside)[])[]
}>

type Field = Readonly<{ given: string; kind: Column['kind']; words?: Words; isOptional: boolean; isNullable: boolean }>

export function writeRecord(columns: readonly Column[], order: RecordOrder): string {
  const recorded: readonly unknown[] = [...order.floats, ...order.amounts, ...order.hashes, ...order.later.flat()]
  const lost = columns.filter((one) => one.from !== 'row' && !isText(one) && !recorded.includes(one.column)).map(({ column }) => column)
  if (lost.length > 0) throw new Error(`the record has no place for ${lost.join(', ')}`)
  const field = (one: string | Beside): Field => fieldOf(one, columns)
  const parts = {
    floats: order.floats.map(field),
    amounts: order.amounts.map(field),
    hashes: order.hashes.map(field),
    later: order.later.map((names) => names.map(field)),
  }
  return `
/** What a record holds, beside other upstream calls, which are rare: they are one text of JSON. */
export type RecordedDebit = ReceiptGiven &
  Readonly<{
    hasCheckpoint: boolean
    idempotency?: Readonly<{ headerHash: Uint8Array; bodyHash: Uint8Array; expiresAt: number }> | undefined
    /** The version of the cost at the upstream that answered, as \`price\` names one; absent: that cost is not known. */
    upstreamCost?: number | undefined
    /** Another upstream has the conversation in its cache. */
    hasMoved?: boolean | undefined
  }>

/** Of the records that are written now; those before it can be read. */
export const RECORD_VERSION = ${1 + parts.later.length}

const AMOUNTS_AT = ${(parts.floats.length + 1) * 8}
const HASHES_AT = AMOUNTS_AT + ${parts.amounts.length * 8}
const TEXTS_AT = HASHES_AT + ${parts.hashes.length * 32}

${limits(parts)}

${writer(parts)}

${reader(parts)}
`
}

/** Texts stand after everything else of version 1. */
const isText = ({ column }: Column): boolean => ['request_id', 'upstream_message_id', 'upstream_request_id'].includes(column)

type Parts = Readonly<Record<'floats' | 'amounts' | 'hashes', readonly Field[]> & { later: readonly (readonly Field[])[] }>

function fieldOf(one: string | Beside, columns: readonly Column[]): Field {
  if (typeof one !== 'string') return { ...one, isOptional: one.isOptional === true, isNullable: false }
  const column = columns.find((found) => found.column === one)
  if (column === undefined) throw new Error(`the record names ${one}, which is no column`)
  const { kind, words, isOptional = false, isNullable = false } = column
  return { given: givenOf(column), kind, ...(words === undefined ? {} : { words }), isOptional, isNullable: isNullable && !isOptional }
}

/** A value for which the record's float says only whether it is there. */
const isPresence = ({ given, kind }: Field): boolean => kind === 'hash' || given === 'upstream'
const at = (name: string, given: string): string => `${name}.${given.replace('idempotency.', 'idempotency?.')}`

function limits({ amounts, later }: Parts): string {
  const [laterAmounts, laterTexts] = [
    later.flat().filter(({ kind }) => kind === 'picos'),
    later.flat().filter(({ kind }) => kind === 'text'),
  ]
  const amountList = [...amounts.map(({ given }) => `debit.${given}`), ...laterAmounts.map(({ given }) => `debit.${given} ?? 0n`)]
  const texts = ['debit.requestId', ...['name', 'model', 'messageId', 'requestId'].map((name) => `debit.upstream?.${name}`)]
  return `/** What must fit the tables, and the lengths of the record. */
export const amountsOfRecord = (debit: RecordedDebit): readonly bigint[] => [${amountList.join(', ')}]
export const textsOfRecord = (debit: RecordedDebit): readonly (string | null | undefined)[] => [${[...texts, ...laterTexts.map(({ given }) => `debit.${given}`)].join(', ')}]

export function recordBytesMax({ requestId, upstream${laterTexts.map(({ given }) => `, ${given}`).join('')} }: RecordedDebit, otherAttempts: string | undefined): number {
  const units = upstream === undefined ? 0 : upstream.name.length + upstream.model.length + unitsOf(upstream.messageId) + unitsOf(upstream.requestId)
  return TEXTS_AT + ${6 * 2 + later.flat().length * 8} + (requestId.length + units + unitsOf(otherAttempts)${laterTexts.map(({ given }) => ` + unitsOf(${given})`).join('')}) * BYTES_PER_UNIT_MAX + 8
}`
}

function writer({ floats, amounts, hashes, later }: Parts): string {
  return `/** Gives where the next record may begin. */
export function writeRecord(bytes: Buffer, view: DataView, start: number, number: number, debit: RecordedDebit, otherAttempts: string | undefined): number {
  const { usage, upstream } = debit
  let at = start
  const put = (value: number): void => {
    view.setFloat64(at, value, true)
    at += 8
  }
  put(number)
  ${floats.map((field) => `put(${floatOf(field)})`).join('\n')}
  ${amounts
    .map(({ given }, place) => `view.setBigInt64(at + ${place * 8}, debit.${given}, true)`)
    .join('\n')
    .replace('at + 0,', 'at,')}
  ${hashes
    .map(({ given }, place) => `putHash(bytes, start + HASHES_AT + ${place * 32}, ${at('debit', given)})`)
    .join('\n')
    .replace(' + 0,', ',')}
  at = start + TEXTS_AT
  at = writeText(bytes, view, at, debit.requestId)
  at = writeText(bytes, view, at, otherAttempts)
  if (upstream !== undefined) {
    at = writeText(bytes, view, at, upstream.name)
    at = writeText(bytes, view, at, upstream.model)
    at = writeText(bytes, view, at, upstream.messageId)
    at = writeText(bytes, view, at, upstream.requestId)
  }
  ${later.flat().map(laterWrite).join('\n')}
  return aligned(at)
}`
}

function floatOf(field: Field): string {
  const { given, kind, words, isOptional, isNullable } = field
  const value = given.startsWith('usage.') ? given : at('debit', given)
  if (isPresence(field)) return `${given === 'upstream' ? given : value} === undefined ? 0 : 1`
  if (words !== undefined) return `${words.list}.indexOf(${value})`
  if (kind === 'flag') return `${value} ? 1 : 0`
  return isOptional || isNullable ? `${value} ?? Number.NaN` : value
}

function laterWrite({ given, kind }: Field): string {
  if (kind === 'text') return `at = writeText(bytes, view, at, debit.${given} ?? undefined)`
  if (kind === 'picos' || kind === 'hash')
    throw new Error(`${given}: a later field of the record is a text, a number or a flag that may be absent`)
  if (kind === 'flag') return `put(debit.${given} === undefined ? Number.NaN : debit.${given} ? 1 : 0)`
  return `put(debit.${given} ?? Number.NaN)`
}

function reader({ floats, amounts, hashes, later }: Parts): string {
  const plain = floats.filter((field) => !isPresence(field) && !field.isOptional)
  const optional = floats.filter((field) => field.isOptional && !isPresence(field))
  const place = (field: Field): number => floats.indexOf(field) + 1
  const read = (field: Field): string => {
    const float = `float(${place(field)})`
    if (field.words !== undefined) return `${field.words.list}[${float}] ?? '${field.words.unknown}'`
    if (field.kind === 'flag') return `${float} === 1`
    return field.isNullable ? `orNull(${float})` : float
  }
  const counters = plain.filter(({ given }) => given.startsWith('usage.'))
  const usage = `usage: {${counters.map((field) => `${field.given.slice('usage.'.length)}: ${read(field)}`).join(', ')}}`
  const fields = [...new Set(plain.map((field) => (counters.includes(field) ? usage : `${field.given}: ${read(field)}`)))]
  const hashAt = (given: string): string =>
    `hash(HASHES_AT + ${hashes.findIndex((field) => field.given === given) * 32})`.replace(' + 0)', ')')
  const presence = (given: string): string => `float(${floats.findIndex((field) => field.given === given) + 1})`
  const sets = optional.map((field) =>
    field.given === 'idempotency.expiresAt'
      ? `const expiresAt = ${read(field)}
  if (!Number.isNaN(expiresAt)) debit.idempotency = { headerHash: ${hashAt('idempotency.headerHash')}, bodyHash: ${hashAt('idempotency.bodyHash')}, expiresAt }`
      : `const ${field.given} = ${read(field)}\nif (!Number.isNaN(${field.given})) debit.${field.given} = ${field.given}`,
  )
  return `type Recorded = Readonly<{ number: number; debit: Writable<RecordedDebit>; otherAttempts: string | undefined; end: number }>

/** \`version\`: of the program that wrote it. */
export function readRecord(bytes: Buffer, view: DataView, start: number, ${later.length === 0 ? '_' : ''}version: number): Recorded {
  const float = (place: number): number => view.getFloat64(start + place * 8, true)
  const amount = (place: number) => picos(view.getBigInt64(start + AMOUNTS_AT + place * 8, true))
  const hash = (place: number): Uint8Array => new Uint8Array(bytes.subarray(start + place, start + place + 32))
  let at = start + TEXTS_AT
  const text = (): string | undefined => {
    const length = view.getUint16(at, true)
    at += 2
    if (length === ABSENT) return undefined
    at += length
    return bytes.toString('utf8', at - length, at)
  }
  const requestId = text() ?? ''
  const otherAttempts = text()
  const upstream = ${presence('upstream')} === 1 ? calledBy(text() ?? '', text() ?? '', text(), text()) : undefined
  const debit: Writable<RecordedDebit> = {
    requestId,
    ${fields.join(',\n')},
    ${amounts.map(({ given }, index) => `${given}: amount(${index})`).join(',\n')},
  }
  // One by one: spread into the debit they cost as much as all the rest of it.
  ${sets.join('\n')}
  if (upstream !== undefined) debit.upstream = upstream
  if (${presence('sessionHash')} === 1) debit.sessionHash = ${hashAt('sessionHash')}
  ${later.map(laterRead).join('\n')}
  return { number: float(0), debit, otherAttempts, end: aligned(at) }
}`
}

/** What a version before it does not have stays absent. */
const laterRead = (fields: readonly Field[], index: number): string => `if (version >= ${index + 2}) {
  ${fields
    .map(({ given, kind }) =>
      kind === 'text'
        ? `const ${given} = text()\nif (${given} !== undefined) debit.${given} = ${given}`
        : `const ${given} = view.getFloat64(at, true)\nat += 8\nif (!Number.isNaN(${given})) debit.${given} = ${given}${kind === 'flag' ? ' === 1' : ''}`,
    )
    .join('\n')}
}`
