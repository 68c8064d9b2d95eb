/**
 * Counts or times over a span: stacked bars or lines, with a vertical line for each thing that happened. Drawing over it chooses a span, a click opens what is behind a part.
 * Rules: pages.md "History", "Tables".
 */

import { useMemo, useRef } from 'preact/hooks'
import '../../parts/language.ts'
import UPlot from 'uplot'
import { Legend } from '../../parts/chart.tsx'
import { ChartSteps } from '../../parts/chart-steps.tsx'
import { overTime, secondsOf } from '../../parts/drawn.ts'
import { axisOf, HEIGHT_PX, leftAxisOf, Plot } from '../../parts/plot.tsx'
import { showMoment, showShortDay, showTime } from '../../parts/show-time.ts'
import { isUtc } from '../../parts/zone.ts'

/** `values`: one of each part; null: there is none. */
type Series = Readonly<{ name: string; colour: string; values: readonly (number | null)[] }>
type ChartMark = Readonly<{ at: string; isBad: boolean }>

type Chart = Readonly<{
  /** Where the axis begins and ends, in ISO 8601; parts may reach over it. */
  from: string
  to: string
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
  /** What a click or Enter does with a part, in words that follow "Enter shows". */
  opened: Readonly<{ what: string; open: (index: number) => void }>
}>

/** A stroke that is shorter is a click. */
const STROKE_PX_MIN = 8

export const TimeChart = (chart: Chart) => {
  const { from, to, parts, partS, series, marks, endsNow, isStacked, point, choose, opened } = chart
  const zone = isUtc.value
  // What a stroke or a click does is of the page as it stands, which may have changed since the chart was drawn.
  const acts = useRef<Acts>(chart)
  acts.current = chart
  const drawn = useMemo(
    () => ({
      options: (element: HTMLElement) => optionsOf(element, chart, () => acts.current),
      data: overTime(parts, partS, series, isStacked) as UPlot.AlignedData,
    }),
    [from, to, parts, series, marks, endsNow, zone],
  )
  return (
    <div class="chart-stepped">
      <figure class="chart opens" aria-hidden="true">
        <Plot {...drawn} point={point} />
        {(isStacked || series.length > 1) && <Legend series={series} />}
      </figure>
      <ChartSteps
        label={`Parts of the chart: Enter shows ${opened.what}, Shift and Enter its time alone`}
        count={parts.length}
        textOf={(index) => showMoment(parts[index] ?? '')}
        point={point}
        open={opened.open}
        alone={(index) => {
          const start = secondsOf(parts[index] ?? '')
          choose(isoOf(start), isoOf(start + partS))
        }}
      />
    </div>
  )
}

const isoOf = (second: number): string => new Date(second * 1_000).toISOString()

type Acts = Pick<Chart, 'choose' | 'opened'>

function optionsOf(element: HTMLElement, chart: Chart, acts: () => Acts): UPlot.Options {
  const { from, to, partS, series, isStacked, showValue, marks, endsNow } = chart
  const axis = axisOf(element)
  const [first, end] = [secondsOf(from), secondsOf(to)]
  const nowS = endsNow ? Math.min(end, Date.now() / 1_000) : undefined
  const ofSeries = ({ colour }: Series): UPlot.Series =>
    isStacked
      ? { fill: colour, stroke: colour, width: 0, points: { show: false }, paths: barsOf(partS) }
      : { stroke: colour, width: 1.5, points: { show: true, size: 4, fill: colour }, spanGaps: false }
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    ...(isUtc.value ? { tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') } : {}),
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
    hooks: {
      ready: [(plot) => takeStrokes(plot, chart, acts)],
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
      leftAxisOf(axis, showValue),
    ],
    series: [{}, ...(isStacked ? series.toReversed() : series).map(ofSeries)],
  }
}

/** A stroke chooses its span, a click opens the part that it is on. uPlot tells of strokes alone. */
function takeStrokes(plot: UPlot, { from, to }: Chart, acts: () => Acts): void {
  const isoAt = (left: number): string => isoOf(Math.round(Math.min(Math.max(plot.posToVal(left, 'x'), secondsOf(from)), secondsOf(to))))
  const leftOf = ({ clientX }: MouseEvent): number => clientX - plot.over.getBoundingClientRect().left
  plot.over.addEventListener('mousedown', (down) => {
    if (down.button !== 0) return
    const began = leftOf(down)
    const end = (up: MouseEvent): void => {
      const [left, right] = [began, leftOf(up)].toSorted((a, b) => a - b) as [number, number]
      if (right - left >= STROKE_PX_MIN) acts().choose(isoAt(left), isoAt(right))
      else if (plot.cursor.idx != null) acts().opened.open(plot.cursor.idx)
    }
    document.addEventListener('mouseup', end, { once: true })
  })
}

/** Between two bars. */
const GAP_PX_MAX = 4

/** Bars as wide as their part, without a gap of at most a fifth of it. uPlot's own are cut where a part is at the edge, and a single one is as wide as the chart. */
const barsOf =
  (partS: number): UPlot.Series.PathBuilder =>
  (plot, of) => {
    const fill = new Path2D()
    const base = plot.valToPos(0, 'y', true)
    for (const [at, middle] of plot.data[0].entries()) {
      const value = plot.data[of]?.[at]
      if (value == null || value === 0) continue
      const [left, right] = [middle - partS / 2, middle + partS / 2].map((second) => plot.valToPos(second, 'x', true)) as [number, number]
      const gap = Math.min((right - left) / 5, GAP_PX_MAX * UPlot.pxRatio)
      const top = plot.valToPos(value, 'y', true)
      fill.rect(left + gap / 2, top, right - left - gap, base - top)
    }
    return { stroke: null, fill }
  }

const DAY_S = 86_400

/** A tick of the axis: a time of day, or the day where the span has more than two. */
function tickText(second: number, spanS: number): string {
  const iso = isoOf(second)
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
    // In the middle of a pixel, so that a line of one is sharp.
    const x = Math.round(plot.valToPos(secondsOf(at), 'x', true)) + 0.5
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
