/** After Stripe's page: waits until the payment stands among the credits, and says so. Rules: pages.md "Top up", "Stripe". */

import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { ask } from '../../parts/ask.ts'
import { Usd } from '../../parts/usd.tsx'
import { api } from '../api.ts'
import { WORDS } from './top-up.words.ts'

const ASKED_EVERY_MS = 1_500
const PATIENCE_MS = 90_000
const LOOKED_AT = 20

/** `arrived`: called when the credit is there. */
export const Arrival = ({ accountId, arrived }: Readonly<{ accountId: string; arrived: () => void }>) => {
  const { query } = useLocation()
  const { paid, since } = query
  if (paid === undefined) return null
  return paid === '1' ? (
    <Waited key={since} accountId={accountId} sinceMs={Number(since)} arrived={arrived} />
  ) : (
    <p class="note wary">{WORDS.cancelled}</p>
  )
}

const Waited = ({ accountId, sinceMs, arrived }: Readonly<{ accountId: string; sinceMs: number; arrived: () => void }>) => {
  const [amount, setAmount] = useState<string>()
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const endMs = Date.now() + PATIENCE_MS
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const look = async (): Promise<void> => {
      const { value } = await ask(api.accounts({ accountId }).credits.get({ query: { limit: LOOKED_AT } }))
      if (isOver) return
      const found = value?.data.find(({ ref, created_at }) => ref.startsWith('stripe:') && Date.parse(created_at) >= sinceMs)
      if (found !== undefined) {
        setAmount(found.amount_usd)
        arrived()
        return
      }
      setLate(Date.now() > endMs)
      // A page that was left open still asks, but seldom.
      timer = setTimeout(again, Date.now() > endMs ? ASKED_EVERY_MS * 20 : ASKED_EVERY_MS)
    }
    const again = (): void => void look().catch(() => undefined)
    again()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [accountId, sinceMs])
  return (
    <p class={isLate && amount === undefined ? 'note wary' : 'note'} role="status">
      {amount === undefined ? (
        isLate ? (
          WORDS.late
        ) : (
          WORDS.waiting
        )
      ) : (
        <>
          Your payment has arrived: <Usd exact={amount} places={2} /> credited.
        </>
      )}
    </p>
  )
}
