/**
 * The requests of an account: newest first, filtered, one opened with the computation of its cost. New requests appear by themselves at the top of the first
 * page. The address says what is shown. Rules: pages.md "Requests of an account".
 */

import { useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { ask, useAsked } from '../../parts/ask.ts'
import { useEvery } from '../../parts/every.ts'
import { useKeyset } from '../../parts/keyset.ts'
import { DearestFirst, useListChoice } from '../../parts/order.tsx'
import { OrderedSince, Requests as RequestTable } from '../../parts/requests.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showDate } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager } from '../../parts/table.tsx'
import { withMoments } from '../../parts/zone.ts'
import { ZoneChoice } from '../../parts/zone-choice.tsx'
import { type AccountPageProps, pathOf } from '../account-path.ts'
import { keyTitle } from '../key-title.ts'
import { lookBack } from '../look-back.ts'
import { filePath, spendApi } from '../spend-api.ts'
import { FILTERS, type Filters, searchOf } from '../spend-view.ts'
import { RequestFilters } from './request-filters.tsx'
import { OpenedRequest } from './request-opened.tsx'
import { shortPageWords, WORDS } from './requests.words.ts'

/** The rows of a full page. */
const ROWS = 50
/** How often the newest request is asked for, so that it is seen within a second. This reads one row. */
const LOOKED_EVERY_MS = 600

export const Requests = ({ account }: AccountPageProps) => {
  const { query, route } = useLocation()
  const filters: Filters = Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
  // The gateway reads moments; the days of the address are days of the zone that is shown.
  const asked = withMoments(filters)
  const search = searchOf(asked)
  const isFiltered = search !== ''
  const order = { ...useListChoice('order'), onlyFalls: true }
  const isOrdered = order.value !== ''
  const opened = query['request'] || undefined
  const { cursor, hasNewer, older, newer } = useKeyset()
  const walk = useRef({ turn: 0, looks: 0 })
  const look = (after: string | undefined) =>
    spendApi.requests(account.id, { ...asked, ...(isOrdered ? { order: order.value } : {}), ...(after === undefined ? {} : { after }) })
  const { loaded, again } = useAsked(() => {
    const turn = walk.current.turn + 1
    walk.current = { turn, looks: 0 }
    const counted = (after: string | undefined) => {
      walk.current.looks++
      return look(after)
    }
    return lookBack(counted, cursor, () => walk.current.turn === turn)
  }, [account.id, search, cursor, order.value])
  useNewest(account.id, cursor === undefined && !isOrdered, async () => {
    // A long walk is made again only when its first page has rows, not for every new request that the filter leaves out.
    if (walk.current.looks < 2 || ((await ask(look(undefined))).value?.data.length ?? 0) > 0) again()
  })
  const show = (changed: Filters & Readonly<{ request?: string | undefined }>): void => {
    // Other filters begin at the first page; a request is opened over the page that is shown.
    const after = 'request' in changed ? cursor : undefined
    route(`${pathOf(account.id, 'requests')}${searchOf({ ...filters, order: order.value || undefined, after, ...changed })}`)
  }
  return (
    <>
      <PageHead title={WORDS.title} lede={WORDS.lede}>
        <a class="button" href={filePath(account.id, 'requests.csv', search)} download>
          {WORDS.csv}
        </a>
      </PageHead>
      <RequestFilters accountId={account.id} filters={filters} show={show} open={(request) => show({ request })} />
      <div class="controls">
        <DearestFirst order={order} />
        <ZoneChoice />
      </div>
      <Show loaded={loaded} again={again} lines={14}>
        {({ data, next_cursor, looked_back_to, ordered }) => (
          <>
            <OrderedSince ordered={ordered} />
            {data.length === 0 ? (
              next_cursor === null ? (
                <NoRequests isFiltered={isFiltered || hasNewer} />
              ) : (
                <Empty title={shortPageWords(looked_back_to === null ? undefined : showDate(looked_back_to))}>
                  <button type="button" onClick={() => older(next_cursor)}>
                    {WORDS.lookFurther}
                  </button>
                </Empty>
              )
            ) : (
              <RequestTable
                rows={data}
                open={(request) => show({ request })}
                order={order}
                more={[
                  {
                    name: 'Key',
                    cell: ({ key_id, key_name }) => <span class="cut block">{keyTitle({ id: key_id, name: key_name })}</span>,
                  },
                ]}
              />
            )}
            <Pager
              hasNewer={hasNewer}
              next={next_cursor}
              older={older}
              newer={newer}
              isShort={!isOrdered && data.length > 0 && data.length < ROWS}
              isOrdered={isOrdered}
            />
          </>
        )}
      </Show>
      {opened !== undefined && (
        <OpenedRequest key={opened} accountId={account.id} requestId={opened} close={() => show({ request: undefined })} />
      )}
    </>
  )
}

const NoRequests = ({ isFiltered }: Readonly<{ isFiltered: boolean }>) => (
  <Empty title={isFiltered ? WORDS.noneFound : WORDS.none}>
    <p>{isFiltered ? WORDS.noneFoundLede : WORDS.noneLede}</p>
  </Empty>
)

/** Calls `changed` when the newest request of the account is another one. */
function useNewest(accountId: string, isOn: boolean, changed: () => Promise<void>): void {
  const newest = useRef<string | null | undefined>(undefined)
  useEvery(LOOKED_EVERY_MS, isOn, async () => {
    const { value } = await ask(spendApi.requests(accountId, { limit: '1' }))
    if (value === undefined) return
    const found = value.data[0]?.request_id ?? null
    if (newest.current !== undefined && newest.current !== found) await changed()
    newest.current = found
  })
}
