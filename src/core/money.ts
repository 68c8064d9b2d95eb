/** Money: whole picodollars (10⁻¹² USD) in a branded bigint, dollars only at the edge. Rules: money.md "Unit". */

declare const unit: unique symbol
/** An amount in picodollars. Every price per token with its cache multipliers is a whole number of them. */
export type Picos = bigint & { readonly [unit]: 'Picos' }

/** The most that an account may hold: int64 picodollars end at 9.22 million USD. */
export const BALANCE_PICOS_MAX = 9_000_000_000_000_000_000n as Picos
export const ZERO = 0n as Picos

const PICOS_PER_USD = 1_000_000_000_000n
const PICOS_PER_MICRO_USD = 1_000_000n
const ZERO_DIGIT = 0x30
const SMALL_PICOS = BigInt(Number.MAX_SAFE_INTEGER)

export const picos = (amount: bigint): Picos => amount as Picos

/** Dollars as people write them ("25", "0.10", "-3.5") to picodollars; undefined when the text is not a decimal with at most 12 places. */
export function parseUsd(text: string): Picos | undefined {
  const match = /^(-?)(\d{1,9})(?:\.(\d{1,12}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '0', fraction = ''] = match
  const amount = BigInt(whole) * PICOS_PER_USD + BigInt(fraction.padEnd(12, '0'))
  return picos(sign === '-' ? -amount : amount)
}

/** Picodollars as dollars with 6 decimals, rounded half to even: the number that the balance endpoints show. */
export const toUsd = (amount: Picos): number => Number(toUsdText(amount))

/** Picodollars as text of dollars with exactly 6 decimals, rounded half to even: "24.998500". */
export function toUsdText(amount: Picos): string {
  const micros = roundHalfEven(amount < 0n ? -amount : amount, PICOS_PER_MICRO_USD)
  const digits = micros.toString().padStart(7, '0')
  const sign = amount < 0n && micros > 0n ? '-' : ''
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`
}

/** Picodollars as dollars, every digit, no trailing zeros: "0.0000105". For receipts and reports, where nothing may be rounded. */
export function toExactUsdText(amount: Picos): string {
  const size: bigint = amount < 0n ? -amount : amount
  // The cost of one request fits a number exactly, and dividing a number takes a tenth of the time that a bigint takes.
  const small = size <= SMALL_PICOS ? Number(size) : undefined
  const whole = `${amount < 0n ? '-' : ''}${small === undefined ? size / PICOS_PER_USD : Math.floor(small / 1e12)}`
  const fraction = small === undefined ? Number(size % PICOS_PER_USD) : small % 1e12
  if (fraction === 0) return whole
  // The 1 in front keeps the zeros behind the point.
  const digits = String(1e12 + fraction)
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO_DIGIT) end--
  return `${whole}.${digits.slice(1, end)}`
}

/** An amount for programs: a number with 6 decimals, and every digit as text. */
export const usdFields = <Name extends string, Amount extends Picos | null>(name: Name, amount: Amount) =>
  ({
    [`${name}_usd`]: amount === null ? null : toUsd(amount),
    [`${name}_usd_exact`]: amount === null ? null : toExactUsdText(amount),
  }) as Record<`${Name}_usd`, number | Extract<Amount, null>> & Record<`${Name}_usd_exact`, string | Extract<Amount, null>>

export const minPicos = (a: Picos, b: Picos): Picos => (a < b ? a : b)
export const maxPicos = (a: Picos, b: Picos): Picos => (a > b ? a : b)
export const sumPicos = (...amounts: readonly Picos[]): Picos => picos(amounts.reduce<bigint>((sum, amount) => sum + amount, 0n))

/** `amount / step`, both positive, to a whole number. */
export function roundHalfEven(amount: bigint, step: bigint): bigint {
  const quotient = amount / step
  const twice = (amount % step) * 2n
  if (twice > step || (twice === step && quotient % 2n === 1n)) return quotient + 1n
  return quotient
}
