/** The deliveries of alerts, with their receivers and results; they are asked for again while one is on its way. Rules: pages.md "Alerts on the page". */

import { useEffect, useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Column } from '../../parts/columns.ts'
import { useKeyset } from '../../parts/keyset.ts'
import { Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import type { AlertsApi, Delivery } from '../alerts-api.ts'
import { deliveryWords, type Names, typeWords, WORDS } from './alerts.words.ts'

const ROWS = 20
const LOOKED_AGAIN_MS = 600
/** How long after an act a new delivery may still appear. */
const ACT_MS = 3_000

/** `acts`: the number of acts on the page that may have caused a delivery. */
export const Deliveries = ({ api, names, acts }: Readonly<{ api: AlertsApi; names: Names; acts: number }>) => {
  const { cursor, hasNewer, older, newer } = useKeyset()
  const { loaded, again } = useAsked(() => api.deliveries(cursor, ROWS), [cursor, acts])
  const [until, setUntil] = useState(0)
  useEffect(() => {
    if (acts > 0) setUntil(Date.now() + ACT_MS)
  }, [acts])
  const rows = loaded.value?.data ?? []
  useEffect(() => {
    if (loaded.state !== 'ready' || !(Date.now() < until || rows.some((row) => isSoon(row, Date.now())))) return
    const timer = setTimeout(again, LOOKED_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [loaded, until])
  return (
    <section class="stack" aria-label={WORDS.deliveries}>
      <div>
        <h2>{WORDS.deliveries}</h2>
        <p class="lede">{WORDS.deliveriesLede}</p>
      </div>
      <Show loaded={loaded} again={again} lines={4}>
        {({ data, next }) =>
          data.length === 0 && !hasNewer ? (
            <p class="quiet">{WORDS.deliveriesNone}</p>
          ) : (
            <>
              <Table
                label={WORDS.deliveries}
                columns={columnsOf(names)}
                rows={data}
                keyOf={({ event_id, target }) => `${event_id} ${target}`}
              />
              <Pager hasNewer={hasNewer} next={next === null ? null : String(next)} older={older} newer={newer} />
            </>
          )
        }
      </Show>
    </section>
  )
}

/** Whether a delivery is on its way, or about to be tried. */
const isSoon = ({ state, next_at }: Delivery, nowMs: number): boolean =>
  state === 'waiting' && (next_at === null || Date.parse(next_at) - nowMs < 10_000)

function receiverOf({ channel, target }: Delivery, { webhookName }: Names): string {
  if (channel === 'telegram') return `chat ${target}`
  return channel === 'webhook' ? (webhookName(target) ?? 'a removed webhook') : target
}

const columnsOf = (names: Names): readonly Column<Delivery>[] => [
  { name: 'When', cell: ({ created_at }) => <Moment iso={created_at} /> },
  {
    name: 'State',
    cell: (delivery) => {
      const [mood, text, more] = deliveryWords(delivery, Date.now())
      return (
        <>
          <Badge mood={mood} text={text} /> {more !== '' && <span class="quiet">{more}</span>}
        </>
      )
    },
  },
  { name: 'What', cell: ({ type }) => typeWords(type) },
  {
    name: 'To',
    cell: (delivery) => <span class="to">{receiverOf(delivery, names)}</span>,
  },
]
