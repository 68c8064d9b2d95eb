/**
 * Counts or times over a span: stacked bars or lines, with a vertical line for each thing that happened, and a span that is chosen by drawing over it.
 * Rules: pages.md "History".
 */

import { useMemo } from 'preact/hooks'
import '../../parts/language.ts'
import UPlot from 'uplot'
import { Legend } from '../../parts/chart.tsx'
import { ChartSteps } from '../../parts/chart-steps.tsx'
import { axisOf, HEIGHT_PX, Plot } from '../../parts/plot.tsx'
import { showMoment, showShortDay, showTime } from '../../parts/show-time.ts'
import { isUtc } from '../../parts/zone.ts'

/** `values`: one of each part; null: there is none. */
type Series = Readonly<{ name: string; colour: string; values: readonly (number | null)[] }>
type ChartMark = Readonly<{ at: string; isBad: boolean }>

type Chart = Readonly<{
  /** The starts of the parts, and how long each is. */
  parts: readonly string[]
  partS: number
  series: readonly Series[]
  isStacked: boolean
  showValue: (value: number) => string
  marks: readonly ChartMark[]
  /** Whether the last part is the one that runs: the axis says where "now" is. */
  endsNow: boolean
  /** Called with the part that is pointed at; null: none. */
  point: (index: number | null) => void
  /** Called with a span that was drawn over, in ISO 8601. */
  choose: (from: string, to: string) => void
}>

/** A stroke that is shorter is a click. */
const STROKE_PX_MIN = 8

export const TimeChart = (chart: Chart) => {
  const { parts, partS, series, marks, endsNow, isStacked, point, choose } = chart
  const zone = isUtc.value
  const drawn = useMemo(
    () => ({ options: (element: HTMLElement) => optionsOf(element, chart), data: dataOf(chart) }),
    [parts, series, marks, endsNow, zone],
  )
  return (
    <div class="chart-stepped">
      <figure class="chart" aria-hidden="true">
        <Plot {...drawn} point={point} />
        {(isStacked || series.length > 1) && <Legend series={series} />}
      </figure>
      <ChartSteps
        label="Parts of the chart: Enter shows one alone"
        count={parts.length}
        textOf={(index) => showMoment(parts[index] ?? '')}
        point={point}
        open={(index) => {
          const from = secondsOf(parts[index] ?? '')
          choose(new Date(from * 1_000).toISOString(), new Date((from + partS) * 1_000).toISOString())
        }}
      />
    </div>
  )
}

const secondsOf = (iso: string): number => Date.parse(iso) / 1_000

/** Stacks each series on those before it; the tallest is drawn first, so that all are seen. */
function dataOf({ parts, series, isStacked }: Chart): UPlot.AlignedData {
  const times = parts.map(secondsOf)
  if (!isStacked) return [times, ...series.map(({ values }) => [...values])]
  const tops = series.map((_, index) =>
    parts.map((_part, at) => series.slice(0, index + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  )
  return [times, ...tops.reverse()]
}

function optionsOf(element: HTMLElement, { parts, partS, series, isStacked, showValue, marks, endsNow, choose }: Chart): UPlot.Options {
  const axis = axisOf(element)
  const [first = 0, end = 0] = [secondsOf(parts[0] ?? ''), secondsOf(parts.at(-1) ?? '') + partS]
  const nowS = endsNow ? Math.min(end, Date.now() / 1_000) : undefined
  const isoAt = (second: number): string => new Date(Math.round(Math.min(Math.max(second, first), end)) * 1_000).toISOString()
  const bars = UPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
  const ofSeries = ({ colour }: Series): UPlot.Series =>
    isStacked
      ? { fill: colour, stroke: colour, width: 0, points: { show: false }, ...(bars === undefined ? {} : { paths: bars }) }
      : { stroke: colour, width: 1.5, points: { show: true, size: 4, fill: colour }, spanGaps: false }
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    ...(isUtc.value ? { tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') } : {}),
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width >= STROKE_PX_MIN) choose(isoAt(plot.posToVal(left, 'x')), isoAt(plot.posToVal(left + width, 'x')))
        },
      ],
      draw: [
        (plot) => {
          drawMarks(plot, element, marks)
          if (nowS !== undefined) drawNow(plot, nowS, axis)
        },
      ],
    },
    scales: { x: { range: () => [first, end] }, y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        size: 32,
        grid: { show: false },
        space: 64,
        values: (plot, seconds) => seconds.map((second) => (isBeforeNow(plot, second, nowS) ? tickText(second, end - first) : '')),
      },
      { ...axis, size: (_, texts) => widthOf(texts), values: (_, values) => values.map(showValue) },
    ],
    series: [{}, ...(isStacked ? series.toReversed() : series).map(ofSeries)],
  }
}

/** What the longest text of an axis needs, and no less than those of most. */
const widthOf = (texts: readonly string[] | null): number => Math.max(64, ...(texts ?? []).map(({ length }) => 16 + 7 * length))

const DAY_S = 86_400

/** A tick of the axis: a time of day, or the day where the span has more than two. */
function tickText(second: number, spanS: number): string {
  const iso = new Date(second * 1_000).toISOString()
  return spanS > 2 * DAY_S ? showShortDay(iso) : showTime(iso)
}

/** The room of the word "now" to both sides, in which no tick has a text; nor has one that is still to come. */
const NOW_PX = 48

const isBeforeNow = (plot: UPlot, second: number, nowS: number | undefined): boolean =>
  nowS === undefined || plot.valToPos(nowS, 'x') - plot.valToPos(second, 'x') >= NOW_PX

/** The word stands where the texts of the ticks do. */
function drawNow(plot: UPlot, nowS: number, { font, stroke }: Readonly<{ font: string; stroke: string }>): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.font = font.replace('12px', `${12 * devicePixelRatio}px`)
  ctx.fillStyle = stroke
  ctx.textAlign = 'center'
  ctx.textBaseline = 'top'
  ctx.fillText('now', plot.valToPos(nowS, 'x', true), bbox.top + bbox.height + 15 * devicePixelRatio)
  ctx.restore()
}

/** Vertical lines, dashed where requests may be missing. */
function drawMarks(plot: UPlot, element: HTMLElement, marks: readonly ChartMark[]): void {
  const { ctx, bbox } = plot
  const style = getComputedStyle(element)
  ctx.save()
  for (const { at, isBad } of marks) {
    const x = Math.round(plot.valToPos(secondsOf(at), 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.strokeStyle = style.getPropertyValue(isBad ? '--danger' : '--ink-quiet')
    ctx.setLineDash(isBad ? [4, 4] : [])
    ctx.lineWidth = 1
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}
