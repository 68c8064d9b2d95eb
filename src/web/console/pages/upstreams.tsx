/** The upstreams: the state of each for each model, taking one out and putting it back. Rules: pages.md "Upstreams". */

import { useEffect, useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask, type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount, showDuration, showMoment } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { tell } from '../../parts/told.tsx'
import { api } from '../api.ts'

type Upstream = Got<typeof api.upstreams.get>['data'][number]
type ModelRow = Upstream['lines'][number]

const LOOK_EVERY_MS = 3_000

export const UpstreamsPage = () => {
  const { loaded, again } = useAsked(() => api.upstreams.get(), [])
  const [changing, setChanging] = useState<Upstream>()
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && again(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  const close = (): void => setChanging(undefined)
  return (
    <>
      <PageHead title="Upstreams" lede="Priority first, then the conversation’s own upstream, then the less loaded of two." />
      <Show loaded={loaded} again={again} lines={8}>
        {({ data }) => (
          <div class="upstream-cards">
            {data.map((upstream) => (
              <UpstreamCard key={upstream.name} upstream={upstream} change={() => setChanging(upstream)} />
            ))}
          </div>
        )}
      </Show>
      {changing !== undefined && (
        <ChangeState
          upstream={changing}
          close={close}
          done={() => {
            close()
            again()
          }}
        />
      )}
    </>
  )
}

const UpstreamCard = ({ upstream, change }: Readonly<{ upstream: Upstream; change: () => void }>) => {
  const { name, host, transport, priority, weight, in_flight, waiting, max_concurrent, out, last_failure } = upstream
  return (
    <section class="card" aria-label={name}>
      <div class="page-head">
        <h2>
          {name} <State upstream={upstream} />
        </h2>
        <button type="button" class={out === null ? undefined : 'primary'} onClick={change}>
          {out === null ? 'Take out…' : 'Put back…'}
        </button>
      </div>
      {out !== null && (
        <p class="note wary">
          Out since {showMoment(out.since)} by {out.by.replace(/^person:/, '')}
          {out.reason === '' ? '.' : `: ${out.reason}`}
        </p>
      )}
      <dl class="facts">
        <dt>Address</dt>
        <dd>{host === null ? 'in this process' : `${host}${transport === 'fetch' ? ', by fetch' : ''}`}</dd>
        <dt>In flight</dt>
        <dd>
          {showCount(in_flight)}
          {max_concurrent === null ? '' : ` of ${showCount(max_concurrent)}`}, {showCount(waiting)} waiting
        </dd>
        <dt>Priority, weight</dt>
        <dd>
          {priority}, {weight}
        </dd>
        <dt>Last failure</dt>
        <dd>
          {last_failure === null ? 'none since this start' : `${last_failure.cause}, ${last_failure.model}, ${showMoment(last_failure.at)}`}
        </dd>
        <dt>Models</dt>
        <dd>
          {upstream.models.map(({ id, upstream_model }) => (id === upstream_model ? id : `${id} as ${upstream_model}`)).join(', ') ||
            'none'}
        </dd>
      </dl>
      {upstream.lines.length > 0 && <Lines name={name} lines={upstream.lines} />}
    </section>
  )
}

/** An upstream is green when its breakers are closed and its last answer is newer than its last failure; both times are ISO 8601, so they compare as texts. */
const State = ({ upstream: { out, lines, last_answer, last_failure } }: Readonly<{ upstream: Upstream }>) => {
  if (out !== null) return <Badge mood="wary" text="out" />
  const open = lines.filter(({ breaker }) => breaker !== 'closed').length
  if (open > 0 && open === lines.length) return <Badge mood="bad" text="failing" />
  if (open > 0) return <Badge mood="wary" text="failing for some models" />
  if (last_failure !== null && last_answer === null) return <Badge mood="bad" text="has not answered yet" />
  if (last_failure !== null && last_answer !== null && last_failure.at > last_answer)
    return <Badge mood="wary" text="failed when last asked" />
  return <Badge mood="good" text="active" />
}

const Lines = ({ name, lines }: Readonly<{ name: string; lines: readonly ModelRow[] }>) => (
  <Table
    label={`Models of ${name}`}
    columns={[
      { name: 'Upstream model', cell: ({ model }: ModelRow) => model },
      { name: 'Breaker', cell: ({ breaker, probe_in_ms }) => <BreakerState breaker={breaker} probeInMs={probe_in_ms} /> },
      { name: 'First event', isFigure: true, cell: ({ first_event_ms }) => (first_event_ms === null ? '–' : showDuration(first_event_ms)) },
      { name: 'Share of weight', isFigure: true, cell: ({ share }) => `${share * 100} %` },
    ]}
    rows={lines}
    keyOf={({ model }) => model}
  />
)

const BreakerState = ({ breaker, probeInMs }: Readonly<{ breaker: ModelRow['breaker']; probeInMs: number | null }>) => {
  if (breaker === 'closed') return <Badge mood="quiet" text="closed" />
  return <Badge mood="bad" text={probeInMs === null ? breaker : `${breaker}, tried in ${showDuration(probeInMs)}`} />
}

const ChangeState = ({
  upstream: { name, out, in_flight },
  close,
  done,
}: Readonly<{ upstream: Upstream; close: () => void; done: () => void }>) => {
  const [reason, setReason] = useState('')
  const act = useAct()
  const isOut = out === null
  const submit = (): void =>
    act.run(
      () => ask(api.upstreams({ name }).state.post({ is_out: isOut, reason })),
      ({ left, unanswered }) => {
        const said = isOut ? `${name} is out${left === 0 ? '. No upstream is left: requests are 503' : ''}` : `${name} takes calls again`
        tell(unanswered.length === 0 ? said : `${said}. Process ${unanswered.join(', ')} did not answer: not done there`)
        done()
      },
    )
  return (
    <Dialog title={isOut ? `Take ${name} out` : `Put ${name} back`} close={close}>
      <Form act={act} fields={['reason']} button={isOut ? 'Take out' : 'Put back'} kind={isOut ? 'danger' : 'primary'} submit={submit}>
        <p>
          {isOut
            ? `${showCount(in_flight)} calls run on to their end, none begins. It stays out over a reload, not over a restart.`
            : 'It takes calls again at once.'}
        </p>
        <Field label="Reason" hint="For the audit log" maxLength={500} value={reason} change={setReason} error={act.errorOf('reason')} />
      </Form>
    </Dialog>
  )
}
