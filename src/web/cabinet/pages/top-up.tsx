/** The ways to put money on an account, and its credits. Rules: pages.md "Top up", "Codes", "Stripe". */

import { useAsked } from '../../parts/ask.ts'
import type { Column } from '../../parts/columns.ts'
import { useKeyset } from '../../parts/keyset.ts'
import { PageHead } from '../../parts/shell.tsx'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import type { AccountPageProps } from '../account-path.ts'
import { api } from '../api.ts'
import { Arrival } from './arrival.tsx'
import { PayByCard, RedeemCode } from './pay.tsx'
import { creditWords, WORDS } from './top-up.words.ts'

const ROWS = 20

type Credit = Readonly<{ id: string; kind: string; amount_usd: string; ref: string; reason: string; created_at: string }>

export const TopUp = ({ account: { id, role } }: AccountPageProps) => {
  const isOwner = role === 'owner'
  const { cursor, hasNewer, older, newer, first } = useKeyset()
  const query = { limit: ROWS, ...(cursor === undefined ? {} : { after: cursor }) }
  const { loaded, again } = useAsked(() => api.accounts({ accountId: id }).credits.get({ query }), [id, cursor])
  // A reader is shown no way to pay.
  const ways = useAsked(isOwner ? () => api.accounts({ accountId: id }).payments.get() : undefined, [id])
  const credited = (): void => {
    first()
    again()
  }
  const balance = loaded.value?.balance_usd
  return (
    <>
      <PageHead title={WORDS.title} lede={isOwner ? WORDS.lede : WORDS.historyReader} />
      <Arrival accountId={id} arrived={credited} />
      <dl class="figures narrow">
        <div>
          <dt>{WORDS.balance}</dt>
          <dd>{balance === undefined ? '…' : <Usd exact={balance} places={2} />}</dd>
        </div>
      </dl>
      {isOwner && (
        <Show loaded={ways.loaded} again={ways.again} lines={5}>
          {({ stripe, text }) => (
            <div class="cards">
              <RedeemCode accountId={id} balance={balance} credited={credited} />
              {stripe !== null && <PayByCard accountId={id} bounds={stripe} />}
              {stripe === null && text !== null && (
                <section class="card" aria-label={WORDS.other}>
                  <h2>{WORDS.other}</h2>
                  <p class="typed">{text}</p>
                </section>
              )}
            </div>
          )}
        </Show>
      )}
      <section class="stack" aria-label={WORDS.history}>
        <h2>{WORDS.history}</h2>
        <Show loaded={loaded} again={again} lines={6}>
          {({ data, next_cursor }) =>
            data.length === 0 && !hasNewer ? (
              <Empty title={WORDS.none}>
                <p>{isOwner ? WORDS.noneOwner : WORDS.noneReader}</p>
              </Empty>
            ) : (
              <>
                <Table label={WORDS.history} columns={COLUMNS} rows={data} keyOf={(credit) => credit.id} />
                <Pager hasNewer={hasNewer} next={next_cursor} older={older} newer={newer} />
              </>
            )
          }
        </Show>
      </section>
    </>
  )
}

const COLUMNS: readonly Column<Credit>[] = [
  { name: 'When', cell: ({ created_at }) => <Moment iso={created_at} /> },
  { name: 'Amount', usd: ({ amount_usd }) => amount_usd },
  { name: 'What', cell: ({ kind, ref, reason }) => (reason === '' ? creditWords(kind, ref) : `${creditWords(kind, ref)}: ${reason}`) },
  { name: 'Reference', cell: ({ ref }) => (ref === '' ? <span class="quiet">none</span> : <code>{ref}</code>) },
]
