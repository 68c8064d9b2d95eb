/** Each upstream, or model, as small charts on one scale: requests with what was refused of them, and the 95th hundredth of its first bytes, with its state and figures. Rules: pages.md "History". */

import type { UpstreamNow } from '../../now/document.ts'
import { Badge } from '../../parts/badge.tsx'
import { idsText } from '../../parts/explore-view.ts'
import { counted, showCount } from '../../parts/show-time.ts'
import { addressOf, type Filters } from '../filters.ts'
import { type History, type HistoryView, type Line, typicalMs } from '../history-api.ts'
import { refusedAt, sumOf } from './history-series.ts'
import { requestsOf, trafficOf } from './history-tables.tsx'
import { showMs, showUptime } from './now.words.ts'
import { Fact } from './now-figures.tsx'
import { exploreToday } from './now-money.tsx'

type By = HistoryView['by']
type Options = Readonly<{ history: History | undefined; upstreams: readonly UpstreamNow[]; by: By; show: (by: By) => void }>

export const Multiples = ({ history, upstreams, by, show }: Options) => {
  const lines = history?.lines ?? []
  const scale = scaleOf(lines)
  const now = by === 'upstream' ? upstreams : []
  const names = [...new Set([...now, ...lines].map(({ name }) => name))]
  return (
    <section class="stack" aria-label="Upstreams">
      <div class="controls">
        <h2>{by === 'model' ? 'Models' : 'Upstreams'}</h2>
        <fieldset class="segments">
          <legend class="unseen">Grouped by</legend>
          {(['upstream', 'model'] as const).map((one) => (
            <button key={one} type="button" aria-pressed={one === by} onClick={() => show(one)}>
              By {one}
            </button>
          ))}
        </fieldset>
      </div>
      {lines.length > 0 && (
        <p class="quiet">
          On one scale: to {counted(scale.requests, 'request')} in {showUptime(history?.part_s ?? 0)}, and to {showMs(scale.ms)} for the
          first byte p95.
        </p>
      )}
      <div class="multiples">
        {names.map((name) => (
          <Multiple
            key={name}
            name={name}
            by={by}
            history={history}
            line={lines.find((line) => line.name === name)}
            now={now.find((one) => one.name === name)}
            scale={scale}
          />
        ))}
      </div>
    </section>
  )
}

type Scale = Readonly<{ requests: number; ms: number }>

const scaleOf = (lines: readonly Line[]): Scale => ({
  requests: Math.max(1, ...lines.flatMap(({ requests }) => requests)),
  ms: Math.max(1, ...lines.flatMap(({ first_byte }) => first_byte.map(({ p95_ms }) => p95_ms ?? 0))),
})

type One = Readonly<{
  name: string
  by: By
  history: History | undefined
  line: Line | undefined
  now: UpstreamNow | undefined
  scale: Scale
}>

const Multiple = ({ name, by, history, line, now, scale }: One) => (
  <article class="card">
    <h3>
      <Title name={name} by={by} /> {now !== undefined && <UpstreamState upstream={now} />}
    </h3>
    {line !== undefined && <Drawn line={line} scale={scale} />}
    <dl class="facts">
      {history !== undefined && line !== undefined && <Sums history={history} by={by} line={line} />}
      {now !== undefined && (
        <>
          <Fact name="In flight" value={<a href="/console/upstreams">{showCount(now.in_flight)}</a>} />
          <Fact name="Waiting" value={<a href="/console/upstreams">{showCount(now.waiting)}</a>} />
          <Fact
            name="First event"
            value={
              <a href={exploreToday({ measure: 'first_byte_p50', by: 'model', upstream: idsText([name]) })}>{showMs(now.first_event_ms)}</a>
            }
          />
        </>
      )}
    </dl>
  </article>
)

/** What has no model or upstream has no page of its own. */
const Title = ({ name, by }: Readonly<{ name: string; by: By }>) =>
  name === 'none' ? (
    <span class="quiet">{by === 'model' ? 'no model' : 'no upstream'}</span>
  ) : (
    <a class="breaks" href={by === 'model' ? addressOf('/console/requests', { model: idsText([name]) }) : '/console/upstreams'}>
      {name}
    </a>
  )

const UpstreamState = ({ upstream: { out, breaker, broken, slow } }: Readonly<{ upstream: UpstreamNow }>) => {
  if (out !== null) return <Badge mood="wary" text="out" />
  if (breaker !== 'closed') return <Badge mood="bad" text={`${breaker}: ${counted(broken.length, 'model')}`} />
  return slow.length > 0 ? <Badge mood="wary" text="slow" /> : <Badge mood="good" text="active" />
}

type Behinds = Readonly<{ text: string; only: Filters<By> | undefined; of: (only: Filters<By>) => string }>
const Behind = ({ text, only, of }: Behinds) => <dd>{only === undefined ? text : <a href={of(only)}>{text}</a>}</dd>

const Sums = ({ history, by, line }: Readonly<{ history: History; by: By; line: Line }>) => {
  const only = line.name === 'none' ? undefined : { [by]: idsText([line.name]) }
  return (
    <>
      <dt>Requests</dt>
      <Behind text={showCount(sumOf(line.requests))} only={only} of={(these) => requestsOf(history, these)} />
      <dt>Refused</dt>
      <Behind
        text={showCount(sumOf(Object.values(line.refusals).map(sumOf)))}
        only={only}
        of={(these) => trafficOf(history, 'refusals', 'reason', these)}
      />
      <dt>First byte</dt>
      <Behind text={showMs(typicalMs(line))} only={only} of={(these) => trafficOf(history, 'first_byte_p50', by, these)} />
    </>
  )
}

const HEIGHT = 40

/** For the eye alone: screen readers read the figures below. */
const Drawn = ({ line, scale }: Readonly<{ line: Line; scale: Scale }>) => {
  const { requests, first_byte } = line
  const refused = requests.map((_, at) => refusedAt(line, at))
  const heightOf = (count: number): number => (count / scale.requests) * HEIGHT
  const bar = (at: number, from: number, to: number): string => (to <= from ? '' : `M${at + 0.5} ${HEIGHT - from}V${HEIGHT - to}`)
  return (
    <div class="multiple">
      <div>
        <svg viewBox={`0 0 ${requests.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path d={requests.map((count, at) => bar(at, 0, heightOf(count - (refused[at] ?? 0)))).join('')} />
          <path class="bad" d={requests.map((count, at) => bar(at, heightOf(count - (refused[at] ?? 0)), heightOf(count))).join('')} />
        </svg>
        Requests, refused
      </div>
      <div>
        <svg viewBox={`0 0 ${first_byte.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path
            class="line"
            d={lineOf(
              first_byte.map(({ p95_ms }) => p95_ms),
              scale.ms,
            )}
          />
        </svg>
        First byte p95
      </div>
    </div>
  )
}

/** A step for each part, with a gap where nothing was counted. */
const lineOf = (values: readonly (number | null)[], most: number): string =>
  values
    .map((value, at) => {
      if (value === null) return ''
      const y = (HEIGHT - (value / most) * HEIGHT).toFixed(1)
      return `${at > 0 && values[at - 1] !== null ? 'L' : 'M'}${at} ${y}h1`
    })
    .join('')
