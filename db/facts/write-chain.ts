/** Generates a receipt's text in the chain, from what is told and from what is stored. A row with nothing of a later version has the text of version 1. */

import { type ChainVersion, type Column, camel, givenOf, nameOf } from './column.ts'
import { isOfPart, isRounded, wrapped } from './write-row.ts'

/** By the name that text and columns share: stored and told facts meet in it. */
const factOf = (column: Column): string => (isRounded(column) ? camel(column.column) : nameOf(column))
/** What the outside knows it by is given as bytes. */
const STANDS_FOR: Readonly<Record<string, string>> = { key_number: 'key', price_number: 'price' }

type Chain = Readonly<{
  first: readonly Column[]
  later: readonly Column[]
  firstPrivate: readonly Column[]
  laterPrivate: readonly Column[]
}>

function chainOf(columns: readonly Column[], versions: readonly ChainVersion[]): Chain {
  const found = (name: string): Column => {
    const column = columns.find((one) => one.column === name)
    if (column === undefined) throw new Error(`the chain names ${name}, which is no column`)
    return column
  }
  const [first, ...later] = versions
  return {
    first: (first?.public ?? []).map(found),
    firstPrivate: (first?.private ?? []).map(found),
    later: later.flatMap((version) => version.public).map(found),
    laterPrivate: later.flatMap((version) => version.private).map(found),
  }
}

export function writeChain(columns: readonly Column[], versions: readonly ChainVersion[]): string {
  const chain = chainOf(columns, versions)
  const facts = [...chain.first, ...chain.later, ...chain.laterPrivate].filter(({ column }) => STANDS_FOR[column] === undefined)
  return `
/** As the gateway has it or as the ledger reads it: in the text they are the same. */
type Whole = number | bigint

/** What of a receipt stands in its text, beside account, key, price and what is private. */
export type ReceiptFacts = Readonly<{
  usage: Readonly<Record<keyof Usage, Whole>>
  ${facts
    .filter((one) => !isOfPart(one, 'usage'))
    .map((one) => `${factOf(one)}${laterOf(chain).includes(one) ? '?' : ''}: ${factType(one)}`)
    .join('\n')}
}>

/** \`owner\`, \`price\`: made once for many receipts, as chain.ts does. \`secret\`: the hash of what is private. */
export function writeReceiptText(line: JsonBytes, facts: ReceiptFacts, owner: Uint8Array, key: string, price: Uint8Array, secret: string): JsonBytes {
  const { ${['usage', ...laterOf(chain).map((one) => `${factOf(one)} = null`)].join(', ')} } = facts
  ${textCalls(chain)}
}

/** Told by the debit. Named one by one: a copy of the whole debit would cost as much as all the rest. */
export const factsOfGiven = (given: ReceiptGiven, rounded: RoundedReceipt, seq: number): ReceiptFacts => ({
  ${objectOf(facts, 'usage: given.usage', (one) => toldValue(one))}
})

${writePrivate(
  'privateOfGiven = (given: ReceiptGiven, bootId: string, rounded: RoundedReceipt)',
  chain.firstPrivate.flatMap(toldPrivate),
  chain.laterPrivate.map((one) => (isRounded(one) ? `rounded.${camel(one.column)}` : `given.${givenOf(one)}`)),
)}
${chain.laterPrivate.length === 0 ? '' : `\n${TEXT_OF}\n`}`
}

/** The columns of later versions, which are null in every row of version 1. */
const laterOf = ({ later, laterPrivate }: Chain): readonly Column[] => [...later, ...laterPrivate]

function factType(column: Column): string {
  const type = { text: 'string', flag: 'boolean', picos: 'bigint', hash: 'string' } as Readonly<Record<string, string>>
  return `${type[column.kind] ?? 'Whole'}${column.isNullable ? ' | null' : ''}`
}

const objectOf = (columns: readonly Column[], usage: string, valueFor: (column: Column) => string): string =>
  [...new Set(columns.map((one) => (isOfPart(one, 'usage') ? usage : `${factOf(one)}: ${valueFor(one)}`)))]
    .join(',\n')
    .replace('seq: seq', 'seq')

function toldValue(column: Column): string {
  if (isRounded(column)) return `rounded.${camel(column.column)}`
  if (column.from === 'row') return column.column
  return `given.${givenOf(column)}${column.isOptional ? ` ?? ${column.default ?? null}` : ''}`
}

function toldPrivate(column: Column): readonly string[] {
  const given = `given.${givenOf(column)}`
  if (column.column === 'boot_number') return ['bootId']
  if (column.column === 'upstream_number') return ['given.upstream?.name', 'given.upstream?.model']
  if (column.kind === 'hash') return [`${given} === undefined ? null : Buffer.from(${given}).toString('hex')`]
  return [given.replace('upstream.', 'upstream?.')]
}

/** The list of version 1, and of what came later as much as there is: a list only grows. */
function writePrivate(head: string, first: readonly string[], later: readonly string[]): string {
  const list = `[\n${first.join(',\n')},\n]`
  const type = 'readonly (string | null | undefined)[]'
  if (later.length === 0) return `export const ${head}: ${type} => ${list}`
  const [name, parameters] = head.split(' = ')
  const pushes = later.map((one, index) => {
    const isAny = later
      .slice(index)
      .map((value) => `(${value} ?? null) !== null`)
      .join(' || ')
    return `if (${isAny}) facts.push(textOf(${one}))`
  })
  return `export const ${name} = ${parameters}: ${type} => {\nconst facts: (string | null | undefined)[] = ${list}\n${pushes.join('\n')}\nreturn facts\n}`
}

const TEXT_OF =
  'const textOf = (fact: string | number | bigint | null | undefined): string | null => (fact === null || fact === undefined ? null : String(fact))'

/** The calls that write the text. Each name is written before its value, with the marks that close the value before. */
function textCalls({ first, later, laterPrivate }: Chain): string {
  const isFirst = [...later, ...laterPrivate].map((one) => `${factOf(one)} === null`).join(' && ')
  const begins = (version: number): string => `'{"v":${version},"kind":"receipt",'`
  const calls: string[] = []
  let before = ''
  let isInTokens = false
  for (const column of first) {
    const isToken = isOfPart(column, 'usage')
    if (isInTokens && !isToken) before += '}'
    before += isToken && !isInTokens ? ',"tokens":{' : isToken && isInTokens ? ',' : ','
    if (isToken && !isInTokens) before = before.replace(/,$/, '')
    isInTokens = isToken
    if (column.column === 'price_number') {
      calls.push(`.plain('${before}')`, '.raw(price)')
      before = ''
      continue
    }
    before += `"${STANDS_FOR[column.column] ?? column.hashedAs ?? column.column}":`
    const [call, after] = callOf(column, before)
    calls.push(call)
    before = after
  }
  const rest = later.map(laterCall)
  const opening = isFirst === '' ? begins(1) : `${isFirst} ? ${begins(1)} : ${begins(2)}`
  const end = `.text('${before},"private":', secret).plain('}')`
  if (later.length === 0) return `return line.plain(${opening}).raw(owner)${calls.join('\n')}${end}`
  return `line.plain(${opening}).raw(owner)${calls.join('\n')}\n${rest.join('\n')}\nreturn line${end}`
}

function laterCall(column: Column): string {
  if (column.kind === 'flag' || !column.isNullable)
    throw new Error(`${column.column}: a later column of the chain is no flag, and may be null`)
  const [call, after] = callOf(column, `,"${column.hashedAs ?? column.column}":`)
  const closed = after === '' ? call : `${call}.plain('${after}')`
  return `if (${factOf(column)} !== null) line${closed.replace('facts.', '')}`
}

function callOf(column: Column, before: string): readonly [call: string, after: string] {
  const value = column.column === 'key_number' ? 'key' : `facts.${factOf(column)}`.replace('facts.usage.', 'usage.')
  if (column.kind === 'flag') return [`.plain('${before}').plain(${value} ? 'true' : 'false')`, '']
  if (column.kind === 'picos') return [`.whole('${before}"', ${value})`, '"']
  return [column.kind === 'text' || value === 'key' ? `.text('${before}', ${value})` : `.whole('${before}', ${value})`, '']
}

/** The chain’s values from a stored row, whose whole numbers are bigints. */
export function writeStored(columns: readonly Column[], versions: readonly ChainVersion[]): string {
  const chain = chainOf(columns, versions)
  const facts = [...chain.first, ...chain.later, ...chain.laterPrivate].filter(({ column }) => STANDS_FOR[column] === undefined)
  return `
/** A receipt as its text needs it. The ids are null where a row that it names is not there. */
export type StoredReceipt = {
  number: bigint
  account: bigint
  accountId: string | null
  keyId: string | null
  price: bigint
  lane: bigint
  hash: string
  ${[...facts.map((one) => `${storedName(one)}: ${storedType(one)}`), ...chain.firstPrivate.flatMap((one) => privateNames(one).map((name) => `${name}: string | null`))].join('\n')}
}

export const STORED_RECEIPTS = \`${selectOf(facts, chain.firstPrivate)}\`

export const factsOfStored = (row: StoredReceipt): ReceiptFacts => ({
  ${objectOf(facts, 'usage: row', (one) => `row.${storedName(one)}${one.kind === 'flag' ? ' === 1n' : ''}`)},
})

${writePrivate(
  'privateOfStored = (row: StoredReceipt)',
  chain.firstPrivate.flatMap(privateNames).map((name) => `row.${name}`),
  chain.laterPrivate.map((one) => `row.${storedName(one)}`),
)}
`
}

const storedName = (column: Column): string => factOf(column).replace('usage.', '')
const storedType = ({ kind, isNullable }: Column): string => `${kind === 'text' ? 'string' : 'bigint'}${isNullable ? ' | null' : ''}`
const privateNames = (column: Column): readonly string[] =>
  column.column === 'upstream_number'
    ? ['upstream', 'upstreamModel']
    : column.column === 'boot_number'
      ? ['bootId']
      : [camel(column.column)]

const JOINED: Readonly<Record<string, string>> = {
  upstream_number: 'u.name AS upstream, u.model AS "upstreamModel"',
  boot_number: 'b.id AS "bootId"',
}

function selectOf(facts: readonly Column[], privates: readonly Column[]): string {
  const chosen = [
    'r.number, r.account_number AS account, a.id AS "accountId", k.id AS "keyId", r.price_number AS price, r.lane, lower(hex(r.hash)) AS hash',
    ...facts.map((one) => `r.${one.column} AS "${storedName(one)}"`),
    ...privates.map((one) => {
      const value = one.kind === 'hash' ? `nullif(lower(hex(r.${one.column})), '')` : `r.${one.column}`
      return JOINED[one.column] ?? `${value} AS "${camel(one.column)}"`
    }),
  ]
  return `${wrapped(`SELECT ${chosen.join(', ')}`)}
FROM receipts r LEFT JOIN accounts a ON a.number = r.account_number LEFT JOIN keys k ON k.number = r.key_number
  LEFT JOIN boots b ON b.number = r.boot_number LEFT JOIN upstreams u ON u.number = r.upstream_number`
}
