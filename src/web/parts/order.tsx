/** The order of a list and what it leaves out, which stand in the address; and the sentences that say over which rows they hold. Rules: pages.md "Tables". */

import { useLocation } from 'preact-iso/router'
import type { Order } from './columns.ts'
import { leftOutWords } from './left-out.ts'
import { showCount } from './show-time.ts'

/** What the gateway says of an ordered list; null: it is in its own order, and whole. */
export type Ordered = Readonly<{ among: number; is_all: boolean; left_out: number }> | null

/** A value in the address. `cursor`: the name of the place in the list, which another order or another choice makes void. */
export function useListChoice(name: string, cursor = 'after'): Readonly<{ value: string; set: (value: string) => void }> {
  const { path, query, route } = useLocation()
  const set = (value: string): void => {
    const params = new URLSearchParams(query)
    params.delete(cursor)
    if (value === '') params.delete(name)
    else params.set(name, value)
    route(params.size === 0 ? path : `${path}?${params}`, true)
  }
  return { value: query[name] ?? '', set }
}

/** Whether disabled rows are left out, which they are until the reader asks for them. */
export function useHidden(name = 'shown', cursor?: string): Readonly<{ isHiding: boolean; show: (all: boolean) => void }> {
  const choice = useListChoice(name, cursor)
  return { isHiding: choice.value !== 'all', show: (all) => choice.set(all ? 'all' : '') }
}

/** `what`: the rows, such as "keys"; `search`: what finds them, '' for all. */
export const OrderNote = ({ ordered, order, search, what }: Readonly<{ ordered: Ordered; order: Order; search: string; what: string }>) =>
  ordered === null || ordered.is_all || (order.value === '' && search === '') ? null : (
    <p class="quiet">
      {search === ''
        ? `In this order are the newest ${showCount(ordered.among)} ${what}; a search narrows them.`
        : `These are of the first ${showCount(ordered.among)} ${what} that the search finds; a longer one narrows them.`}
    </p>
  )

/** How many disabled rows are left out, and the switch. */
export const LeftOut = ({
  ordered,
  isHiding,
  show,
  what,
}: Readonly<{ ordered: Ordered; isHiding: boolean; show: (all: boolean) => void; what: string }>) => {
  const count = ordered?.left_out ?? 0
  if (isHiding && count === 0) return null
  const { said, button } = isHiding ? leftOutWords(count, what) : { said: `Disabled ${what} are shown.`, button: 'Hide them' }
  return (
    <p class="quiet">
      {said}{' '}
      <button type="button" class="as-link" onClick={() => show(isHiding)}>
        {button}
      </button>
    </p>
  )
}

/** The dearest requests of what is shown, in one click, and the way back. */
export const DearestFirst = ({ order }: Readonly<{ order: Order }>) => (
  <div class="acts">
    <button type="button" aria-pressed={order.value === '-cost'} onClick={() => order.set(order.value === '-cost' ? '' : '-cost')}>
      Dearest first
    </button>
  </div>
)

/** The order and the choice as a list is asked for them. */
export const asked = (order: Order, isHiding: boolean) => ({
  ...(order.value === '' ? {} : { order: order.value as never }),
  ...(isHiding ? { hide: 'disabled' as const } : {}),
})
