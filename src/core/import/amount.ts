/** Amounts of other gateways, computed without rounding and brought to whole picodollars, downwards. Rules: operator.md "Import". */

import { type Picos, picos } from '../money.ts'

/** Whole picodollars, and what rounding down left of them, as a text of dollars; '': nothing. */
export type Amount = Readonly<{ picos: Picos; rest: string }>

const PICO_PLACES = 12
const PICOS_PER_USD = 10n ** 12n

type Decimal = Readonly<{ units: bigint; places: number }>

/** What is left of a budget in dollars. The shortest decimal that names a double is the amount that people see. */
export function leftOf(budget: number, spent: number): Amount {
  const [whole, part] = [decimalOf(budget), decimalOf(spent)]
  const places = Math.max(whole.places, part.places, PICO_PLACES)
  const units = whole.units * 10n ** BigInt(places - whole.places) - part.units * 10n ** BigInt(places - part.places)
  return divided(units, 10n ** BigInt(places - PICO_PLACES), (rest) => `0.${String(rest).padStart(places, '0').replace(/0+$/, '')} USD`)
}

/** What a number of quota units is worth, of which `perUsd` make a dollar. */
export const worthOf = (units: bigint, perUsd: bigint): Amount =>
  divided(units * PICOS_PER_USD, perUsd, (rest) => `${rest}/${perUsd} of a picodollar`)

function divided(units: bigint, by: bigint, restText: (rest: bigint) => string): Amount {
  const isBelow = units < 0n && units % by !== 0n
  const quotient = units / by - (isBelow ? 1n : 0n)
  const rest = units - quotient * by
  return { picos: picos(quotient), rest: rest === 0n ? '' : restText(rest) }
}

/** A finite number as its shortest decimal, such as `1.5e-7`. */
function decimalOf(value: number): Decimal {
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  const places = fraction.length - Number(exponent)
  const units = BigInt(`${whole}${fraction}`) * 10n ** BigInt(Math.max(0, -places))
  return { units: sign === '-' ? -units : units, places: Math.max(0, places) }
}
