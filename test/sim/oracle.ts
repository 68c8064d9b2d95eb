/**
 * What a request costs, worked out a second time by other means: decimals as people write them, as fractions of whole numbers. Nothing of the ledger's own
 * arithmetic is used, so that one of the two is wrong where they differ.
 */

/** `numerator / 10^places` dollars. */
type Decimal = Readonly<{ numerator: bigint; places: number }>

const decimal = (text: string): Decimal => {
  const [whole = '', fraction = ''] = text.split('.')
  return { numerator: BigInt(whole + fraction), places: fraction.length }
}

const plus = (a: Decimal, b: Decimal): Decimal => {
  const places = Math.max(a.places, b.places)
  return { numerator: a.numerator * 10n ** BigInt(places - a.places) + b.numerator * 10n ** BigInt(places - b.places), places }
}

const times = (a: Decimal, b: Decimal): Decimal => ({ numerator: a.numerator * b.numerator, places: a.places + b.places })

/** USD for a million tokens, and for one use of a tool, as a price list says it. */
export type PriceList = Readonly<{
  input: string
  output: string
  cacheRead: string
  cacheWrite5m: string
  cacheWrite1h: string
  serverToolUse: string
}>

type Counts = Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUses', number>>

const MILLIONTH = decimal('0.000001')

export function costText(counts: Counts, prices: PriceList): string {
  const ofTokens = (['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const)
    .map((kind) => times(times(decimal(String(counts[kind])), decimal(prices[kind])), MILLIONTH))
    .reduce(plus)
  return textOf(plus(ofTokens, times(decimal(String(counts.serverToolUses)), decimal(prices.serverToolUse))))
}

/** A product of decimals, as people write it: a price times a multiplier. */
export const productText = (a: string, b: string): string => textOf(times(decimal(a), decimal(b)))

/** Every digit, no trailing zeros. */
function textOf({ numerator, places }: Decimal): string {
  const digits = numerator.toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** Dollars of text in picodollars, which the database keeps. Throws where that would round. */
export function picosOf(text: string): bigint {
  const { numerator, places } = decimal(text)
  const scaled = numerator * 10n ** 12n
  const step = 10n ** BigInt(places)
  if (scaled % step !== 0n) throw new Error(`${text} USD is no whole number of picodollars`)
  return scaled / step
}
