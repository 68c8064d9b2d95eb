/** Amounts for people. They come as exact decimal texts and never become a float: the shown text is made from the digits, rounded half to even. */

/** "12.3456789" → "$12.35"; below a dollar, with as many places as the first digits need, at most 6: "$0.0042". `places`: the number of places in any case. */
export function showUsd(exact: string, places?: number): string {
  const isNegative = exact.startsWith('-')
  const [whole = '0', fraction = ''] = (isNegative ? exact.slice(1) : exact).split('.')
  const wanted = places ?? placesFor(whole, fraction)
  const rounded = roundedTo(whole, fraction, wanted)
  const [dollars = '0', cents = ''] = rounded.split('.')
  const grouped = dollars.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  const isZero = /^[0.]*$/.test(rounded)
  return `${isNegative && !isZero ? '−' : ''}$${cents === '' ? grouped : `${grouped}.${cents}`}`
}

const placesFor = (whole: string, fraction: string): number => {
  if (whole !== '0') return 2
  const first = fraction.search(/[1-9]/)
  return first === -1 || first < 2 ? 2 : Math.min(first + 2, 6)
}

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

/** The price of a million for the price of one, with every digit: "0.00000375" → "$3.75". */
export function showPerMillion(exact: string): string {
  const price = textOf(picosOf(exact) * 1_000_000n)
  return showUsd(price, Math.max(2, (price.split('.')[1] ?? '').length))
}

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
