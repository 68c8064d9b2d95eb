/**
 * Amounts for people. They come as exact decimal texts and never become a float: the shown text is made from the digits, rounded half to even.
 * Rules: pages.md "Amounts".
 */

const PLACES_MAX = 6
/** Of an amount below a dollar. */
const DIGITS_SHOWN = 3

/** "12.3456789" → "$12.35"; below a dollar the first three digits, at most 6 places: "$0.0149". `places`: the number of places in any case. */
export function showUsd(exact: string, places = placesOf(exact)): string {
  const isNegative = exact.startsWith('-')
  const [whole = '0', fraction = ''] = partsOf(exact)
  const rounded = roundedTo(whole, fraction, places)
  if (isZero(rounded) && !isZero(exact)) return `${isNegative ? '>−' : '<'}$${least(places)}`
  const [dollars = '0', cents = ''] = rounded.split('.')
  const grouped = dollars.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return `${isNegative && !isZero(rounded) ? '−' : ''}$${cents === '' ? grouped : `${grouped}.${cents}`}`
}

/** The places of a column: as many as the amount with the smallest step needs, so that the points stand below each other. */
export const placesOfAll = (amounts: readonly string[]): number => amounts.reduce((most, exact) => Math.max(most, placesOf(exact)), 2)

/** The places that an amount needs by itself; never more than it has. */
function placesOf(exact: string): number {
  const [whole = '0', fraction = ''] = partsOf(exact)
  const first = whole === '0' ? fraction.search(/[1-9]/) : -1
  return first === -1 ? 2 : Math.max(2, Math.min(first + DIGITS_SHOWN, fraction.replace(/0+$/, '').length, PLACES_MAX))
}

const partsOf = (exact: string): readonly string[] => exact.replace('-', '').split('.')
const isZero = (text: string): boolean => /^-?[0.]*$/.test(text)
/** The smallest amount that so many places can show. */
const least = (places: number): string => (places === 0 ? '1' : `0.${'1'.padStart(places, '0')}`)

function roundedTo(whole: string, fraction: string, places: number): string {
  const kept = BigInt(whole + fraction.padEnd(places, '0').slice(0, places))
  const rest = fraction.slice(places)
  const half = `5${'0'.repeat(Math.max(rest.length - 1, 0))}`
  const isUp = rest !== '' && (rest > half || (rest === half && kept % 2n === 1n))
  const digits = String(isUp ? kept + 1n : kept).padStart(places + 1, '0')
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** The exact sum of exact decimal texts, for tables that add the amounts that they show. */
export const sumUsd = (amounts: readonly string[]): string => textOf(amounts.reduce((sum, amount) => sum + picosOf(amount), 0n))

/** Below, above or equal, for an order by amounts. */
export function compareUsd(a: string, b: string): number {
  const [one, other] = [picosOf(a), picosOf(b)]
  return one < other ? -1 : one > other ? 1 : 0
}

/** A price with every digit, and never less than cents: "0.5" → "$0.50". */
export const showPrice = (exact: string): string => showUsd(exact, Math.max(2, (exact.split('.')[1] ?? '').length))

/** The price of a million for the price of one: "0.00000375" → "$3.75". */
export const showPerMillion = (exact: string): string => showPrice(textOf(picosOf(exact) * 1_000_000n))

/** The amount as a number, only for heights and shares. */
export const usdNumber = (exact: string): number => Number(exact)

function picosOf(exact: string): bigint {
  const [whole = '0', fraction = ''] = exact.replace('-', '').split('.')
  const size = BigInt(whole + fraction.padEnd(12, '0').slice(0, 12))
  return exact.startsWith('-') ? -size : size
}

function textOf(picos: bigint): string {
  const digits = (picos < 0n ? -picos : picos).toString().padStart(13, '0')
  const fraction = digits.slice(-12).replace(/0+$/, '')
  return `${picos < 0n ? '-' : ''}${digits.slice(0, -12)}${fraction === '' ? '' : `.${fraction}`}`
}
