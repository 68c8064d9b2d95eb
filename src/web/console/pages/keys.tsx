/** Keys over all accounts, found by name, id or the end of a secret. Rules: operator.md "Lists". */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { useKeyset } from '../../parts/keyset.ts'
import { asked, LeftOut, OrderNote, useHidden, useListChoice } from '../../parts/order.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager } from '../../parts/table.tsx'
import { api } from '../api.ts'
import { Search, usePaused } from '../search.tsx'
import { KeyTable } from './key-table.tsx'

export const KeysPage = () => {
  const [text, setText] = useState('')
  const search = usePaused(text.trim())
  const pages = useKeyset()
  const { cursor } = pages
  const order = useListChoice('order')
  const hidden = useHidden()
  const query = {
    ...asked(order, hidden.isHiding),
    ...(search === '' ? {} : { search }),
    ...(cursor === undefined ? {} : { after: cursor }),
  }
  const { loaded, again } = useAsked(() => api.keys.get({ query }), [JSON.stringify(query)])
  return (
    <>
      <PageHead title="Keys" lede="Of all accounts. A new key is made on the page of its account." />
      <Search
        label="Find a key"
        hint="The beginning of its name or id, or the last four characters of its secret"
        value={text}
        change={(value) => {
          setText(value)
          pages.first()
        }}
      />
      <Show loaded={loaded} again={again} lines={10}>
        {({ data, next_cursor, ordered }) => (
          <>
            <LeftOut ordered={ordered} {...hidden} what="keys" />
            {data.length === 0 && (ordered?.left_out ?? 0) === 0 ? (
              <Empty title={search === '' ? 'There are no keys yet' : 'No key begins or ends so'} />
            ) : (
              <KeyTable keys={data} changed={again} order={order} />
            )}
            <OrderNote ordered={ordered} order={order} search={search} what="keys" />
            <Pager {...pages} next={next_cursor} isOrdered={order.value !== ''} />
          </>
        )}
      </Show>
    </>
  )
}
