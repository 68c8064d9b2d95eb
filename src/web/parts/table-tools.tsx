/** What stands above a table: its order, where a phone shows no column heads, and the choice of its columns. Rules: pages.md "Tables". */

import type { Order } from './columns.ts'
import { Choice, type Option, Ticks } from './field.tsx'
import { Menu } from './menu.tsx'

export const TableTools = ({
  label,
  orders,
  order,
  columns,
  hidden,
  hide,
}: Readonly<{
  label: string
  orders: readonly Option[]
  order: Order | undefined
  columns: readonly string[]
  hidden: readonly string[]
  hide: (hidden: readonly string[]) => void
}>) =>
  orders.length === 0 && columns.length === 0 ? null : (
    <div class={columns.length === 0 ? 'table-tools phone-only' : 'table-tools'}>
      {order !== undefined && orders.length > 0 && (
        <div class="phone-only">
          <Choice label="Order" options={[{ value: '', text: 'Default' }, ...orders]} value={order.value} change={order.set} />
        </div>
      )}
      {columns.length > 0 && (
        <Menu label="Columns" stays>
          <Ticks
            label={`Columns of ${label}`}
            options={columns.map((name) => ({ value: name, text: name }))}
            value={columns.filter((name) => !hidden.includes(name))}
            change={(wanted) => hide(columns.filter((name) => !wanted.includes(name)))}
          />
        </Menu>
      )}
    </div>
  )
