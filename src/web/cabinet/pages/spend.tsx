/** The balance and the spend of an account: figures, a chart by model or key, tokens by kind, a table. The address says what is shown. Rules: pages.md "Spend". */

import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAsked } from '../../parts/ask.ts'
import { useEvery } from '../../parts/every.ts'
import { idsText, type Moments, momentsOf } from '../../parts/explore-view.ts'
import { PageHead } from '../../parts/shell.tsx'
import { Empty, Show } from '../../parts/state.tsx'
import { type AccountPageProps, pathOf } from '../account-path.ts'
import { filePath, spendApi } from '../spend-api.ts'
import { type SpendView, searchOf, spendSearch, spendViewOf } from '../spend-view.ts'
import { WORDS } from './spend.words.ts'
import { SpendChart } from './spend-chart.tsx'
import { SpendControls } from './spend-controls.tsx'
import { NowFigures, RangeFigures } from './spend-figures.tsx'
import { SpendTable, Tokens } from './spend-table.tsx'

/** The balance is looked at this often; the rest of the page is asked for again only when the balance has changed. */
const LOOKED_EVERY_MS = 3_000

export const Spend = ({ account }: AccountPageProps) => {
  const { query, route } = useLocation()
  const view = spendViewOf(query, Date.now())
  const { from, to, by, key, model, tag } = view
  const summary = useAsked(() => spendApi.summary(account.id), [account.id])
  const spend = useAsked(() => spendApi.spend(account.id, view), [account.id, from, to, by, key, model, tag])
  useEvery(LOOKED_EVERY_MS, true, async () => summary.again())
  const balance = summary.loaded.value?.balance_usd
  useEffect(() => {
    if (spend.loaded.value !== undefined) spend.again()
  }, [balance])
  const show = (changed: Partial<SpendView>): void => route(`${pathOf(account.id, 'spend')}${spendSearch({ ...view, ...changed })}`)
  const whole = momentsOf({ from, to })
  const requestsOf = (span: Moments, only: Partial<Record<SpendView['by'], string>> = {}): string =>
    `${pathOf(account.id, 'requests')}${searchOf({ ...span, key, model: model && idsText([model]), tag, ...only })}`
  const file = searchOf({ from, to, by, key, model, tag })
  return (
    <>
      <PageHead title={WORDS.title} lede={WORDS.lede}>
        <a class="button" href={filePath(account.id, 'spend.csv', file)} download>
          {WORDS.csv}
        </a>
        {account.role === 'owner' && (
          <a class="button" href={filePath(account.id, 'statement', searchOf({ from, to }))} download>
            {WORDS.statement}
          </a>
        )}
      </PageHead>
      <div class="now-room">
        <Show loaded={summary.loaded} again={summary.again} lines={3}>
          {(now) => <NowFigures now={now} />}
        </Show>
      </div>
      <section class="stack" aria-label="Spend of a time">
        <SpendControls view={view} name={spend.loaded.value?.key_name ?? undefined} show={show} />
        <Show loaded={spend.loaded} again={spend.again} lines={16}>
          {(shown) => (
            <>
              <RangeFigures total={shown.total} />
              {shown.total.requests === 0 ? (
                <Empty title={WORDS.none}>
                  <p>{WORDS.noneLede}</p>
                </Empty>
              ) : (
                <>
                  <SpendChart spend={shown} open={(span) => route(requestsOf(span))} />
                  <SpendTable
                    spend={shown}
                    show={show}
                    view={view}
                    requestsOf={(id) => requestsOf(whole, { [shown.by]: shown.by === 'tag' ? id : idsText([id]) })}
                  />
                  <Tokens usage={shown.total.usage} />
                  <p>
                    <a href={requestsOf(whole)}>See these requests one by one</a>, or{' '}
                    <a href={`${requestsOf(whole)}&order=-cost`}>the dearest of them first</a>
                  </p>
                </>
              )}
            </>
          )}
        </Show>
      </section>
    </>
  )
}
