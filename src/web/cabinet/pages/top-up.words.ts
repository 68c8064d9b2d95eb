/** The words of the page of top-ups. */

export const WORDS = {
  title: 'Top up',
  lede: 'One balance pays for all keys of this account.',
  balance: 'Balance',
  code: 'Redeem a code',
  codeHint: 'TG- and 25 characters. Case, spaces and hyphens do not matter.',
  codeButton: 'Redeem',
  pay: 'Pay with Stripe',
  amountHint: (min: string, max: string) => `From ${min} to ${max}`,
  other: 'Other ways to pay',
  history: 'Credits',
  historyReader: 'What was credited to this account.',
  none: 'Nothing was credited yet.',
  noneOwner: 'Redeem a code or pay above: it stands here at once.',
  noneReader: 'An owner of this account can top it up.',
  cancelled: 'Nothing was paid.',
  waiting: 'Waiting for your payment to arrive. This mostly takes a few seconds.',
  late: 'Stripe has not confirmed the payment yet. Some ways to pay take days; it is credited as soon as Stripe says so, and nothing needs to be done here.',
} as const

const KINDS: Readonly<Record<string, string>> = { 'top-up': 'Top-up', refund: 'Refund', correction: 'Correction' }
const SOURCES: readonly (readonly [string, string])[] = [
  ['code:', 'prepaid code'],
  ['stripe:', 'Stripe'],
]

/** "Top-up by prepaid code". */
export function creditWords(kind: string, ref: string): string {
  const source = SOURCES.find(([prefix]) => ref.startsWith(prefix))?.[1]
  const name = KINDS[kind] ?? kind
  return source === undefined ? name : `${name} by ${source}`
}
