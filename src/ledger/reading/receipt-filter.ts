/** Which receipts a list holds: of whom, and which of theirs. A list of values means any of them. Rules: operator.md "Lists"; ledger.md "Pages". */

import type { FormatName } from '../../core/format.ts'
import type { Outcome, UsageSource } from '../../core/outcome.ts'
import { among, listText } from '../sql/sql-list.ts'

/** Keys by their ids, accounts by theirs; with both, those of the keys that are of one of the accounts. Neither: all receipts there are. */
export type ReceiptsOf = Readonly<{ keyIds?: readonly string[] | undefined; accountIds?: readonly string[] | undefined }>

/** `upstreams`: names; `(none)` is that of a receipt without a call. */
export type ReceiptFilter = Readonly<{
  modelIds?: readonly string[] | undefined
  outcomes?: readonly Outcome[] | undefined
  upstreams?: readonly string[] | undefined
  formats?: readonly FormatName[] | undefined
  usageSource?: UsageSource | undefined
  tag?: string | undefined
}>

export const NO_UPSTREAM = '(none)'

/** The list of the one value that is asked for, if any is. */
export const listOfOne = <Value>(value: Value | undefined): readonly Value[] | undefined => (value === undefined ? undefined : [value])

/** The filter as parameters, each null where nothing is filtered. */
export const filterValues = ({ modelIds, outcomes, upstreams, formats, usageSource, tag }: ReceiptFilter) => ({
  models: listText(modelIds),
  outcomes: listText(outcomes),
  upstreams: listText(upstreams),
  formats: listText(formats),
  basis: usageSource ?? null,
  tag: tag ?? null,
})

/** The condition that a column has the value of a parameter, where it has any. */
const is = (column: string, parameter: string): string => `(CAST(${parameter} AS TEXT) IS NULL OR ${column} = ${parameter})`

/** The filter as a condition on a receipt `r`, its model `m` and its upstream `u`, which may be none. */
export const FILTERED = [
  among('m.id', '$models'),
  among('r.outcome', '$outcomes'),
  among(`coalesce(u.name, '${NO_UPSTREAM}')`, '$upstreams'),
  among('r.format', '$formats'),
  is('r.basis', '$basis'),
  is('r.tag', '$tag'),
].join(' AND ')

export const isFiltering = (filter: ReceiptFilter): boolean => Object.values(filterValues(filter)).some((value) => value !== null)
