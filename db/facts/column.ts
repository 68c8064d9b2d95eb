/**
 * The description of a column of the ledger. It is written once, and the code that stores, hashes, sends and shows the column is generated from it. Rules: ledger.md "Columns".
 */

/**
 * whole: a count, or a name by number · time: Unix milliseconds · ms: a duration, measured with fractions and stored whole · picos: picodollars · flag: 0 or 1 in
 * the tables · hash: 32 bytes · thousandths: a fraction, stored in whole thousandths.
 */
export type Kind = 'text' | 'whole' | 'time' | 'ms' | 'picos' | 'flag' | 'hash' | 'thousandths'

/** Words that code and tables share: a list in `file`, below `src`, and its type. `unknown`: what is read where no word fits. */
export type Words = Readonly<{ list: string; type: string; file: string; unknown: string }>

export type Column = Readonly<{
  /** The name in the tables. */
  column: string
  kind: Kind
  words?: Words
  isNullable?: true
  /** hold: known when the request is admitted · settle: when it ends · row: made by the writer of the row. */
  from: 'hold' | 'settle' | 'row'
  /** The name in code; `usage.input` is the field `input` of `usage`. Absent: the column's name in camel case. */
  name?: string
  /** The name in what is given, if it differs there. */
  given?: string
  /** The value may be left out of what is given; it is then `default`, or null. */
  isOptional?: true
  default?: number
  /** all: customers and operators · none: the column is read for the chain or for sums only. */
  shownTo: 'all' | 'operators' | 'none'
  /** The comment in code, for what type and name do not say. */
  says?: string
  /** The description for customers, in the API. */
  tells?: string
  /** The name in the chain's text and in documents, if it differs from the column's. */
  hashedAs?: string
  documentedAs?: string
}>

/**
 * What a row's text has by a version of the chain, by column and in this order, which is not the table's. Version 1 has all of its columns, null or not. A later
 * version adds what it names, behind what there is and where it is not null; a row that has none of it is of version 1. A version that is released never changes.
 */
export type ChainVersion = Readonly<{ public: readonly string[]; private: readonly string[] }>

/** A value that is given with a row and is no column of it. */
export type Beside = Readonly<{ given: string; kind: Kind; isOptional?: true }>

export const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
/** The column's name in code. */
export const nameOf = ({ name, column }: Column): string => name ?? camel(column)
/** The column's name in what is given. */
export const givenOf = (column: Column): string => column.given ?? nameOf(column)
