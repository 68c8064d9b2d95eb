/**
 * Bars over days, stacked by name, or lines of what does not add up, drawn by uPlot into a canvas. The table beside a chart says the same for people who cannot see it, so the canvas is hidden
 * from screen readers. Its colours follow the theme.
 */

import { useMemo } from 'preact/hooks'
import './language.ts'
import UPlot from 'uplot'
import { ChartSteps } from './chart-steps.tsx'
import { stacked } from './drawn.ts'
import { axisOf, HEIGHT_PX, leftAxisOf, Plot } from './plot.tsx'

export type Series = Readonly<{ name: string; colour: string; values: readonly number[] }>

/** `showValue`: makes the texts of the axis on the left. `point`: called with the bar that is pointed at; null: none. `open`: called with a bar that is clicked. */
type Acts = Readonly<{
  showValue: (value: number) => string
  point: (index: number | null) => void
  open?: ((index: number) => void) | undefined
}>

/** `days`: the texts of the axis below. `opened`: what a click or Enter does with a bar, and the bar in words; heights are floats, so the words come from the exact amounts. */
/** `label`: where a bar opens something else than its requests. */
type Opened = Readonly<{ label?: string | undefined; textOf: (index: number) => string; open: (index: number) => void }>
type Options<Of> = Omit<Acts, 'open'> & Readonly<{ days: readonly string[]; series: readonly Of[]; opened?: Opened | undefined }>

export function Bars({ days, series, showValue, point, opened }: Options<Series>) {
  const open = opened?.open
  const drawn = useMemo(
    () => ({
      options: (element: HTMLElement) => optionsOf(element, days, series, { showValue, open }),
      data: [days.map((_, at) => at), ...stacked(series, days.length)] as UPlot.AlignedData,
    }),
    [days, series],
  )
  return <Framed drawn={drawn} days={days} series={series} point={point} opened={opened} />
}

type FramedOptions = Pick<Options<Pick<Series, 'name' | 'colour'>>, 'days' | 'series' | 'point' | 'opened'> &
  Readonly<{ drawn: Pick<Parameters<typeof Plot>[0], 'options' | 'data'> }>

/** A plot with its legend, and the way through it by keyboard. */
const Framed = ({ drawn, days, series, point, opened }: FramedOptions) => (
  <div class="chart-stepped">
    <figure class={opened === undefined ? 'chart' : 'chart opens'} aria-hidden="true">
      <Plot {...drawn} point={point} />
      <Legend series={series} />
    </figure>
    {opened !== undefined && (
      <ChartSteps
        {...opened}
        label={opened.label ?? 'Bars of the chart: Enter shows the requests of one'}
        count={days.length}
        point={point}
      />
    )}
  </div>
)

type LineSeries = Readonly<{ name: string; colour: string; values: readonly (number | null)[] }>

/** A line for each series, with a gap where its value is null. `max`: the end of the axis on the left. */
export function Lines({ days, series, max, showValue, point, opened }: Options<LineSeries> & Readonly<{ max: number }>) {
  const open = opened?.open
  const drawn = useMemo(() => {
    const lines = series.map(({ colour }) => ({
      stroke: colour,
      width: 1.5,
      points: { show: true, size: 4, fill: colour },
      spanGaps: false,
    }))
    return {
      options: (element: HTMLElement) => ({ ...frameOf(element, days, { showValue, open }, () => [0, max]), series: [{}, ...lines] }),
      data: [days.map((_, at) => at), ...series.map(({ values }) => [...values])] as UPlot.AlignedData,
    }
  }, [days, series])
  return <Framed drawn={drawn} days={days} series={series} point={point} opened={opened} />
}

export const Legend = ({ series }: Readonly<{ series: readonly Pick<Series, 'name' | 'colour'>[] }>) => (
  <ul class="legend">
    {series.map(({ name, colour }) => (
      <li key={`${name} ${colour}`}>
        <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
          <rect width="10" height="10" rx="2" fill={colour} />
        </svg>
        {name}
      </li>
    ))}
  </ul>
)

function optionsOf(element: HTMLElement, days: readonly string[], series: readonly Series[], acts: Omit<Acts, 'point'>): UPlot.Options {
  const paths = UPlot.paths.bars?.({ size: [0.7, 48] })
  const frame = frameOf(element, days, acts, (high) => [0, high > 0 ? high * 1.1 : 1])
  return { ...frame, series: [{}, ...series.toReversed().map(({ colour }) => barOf(colour, paths))] }
}

/** Axes and what is done with the pointer. `range`: of the axis on the left, by the highest value. */
function frameOf(
  element: HTMLElement,
  days: readonly string[],
  { showValue, open }: Omit<Acts, 'point'>,
  range: (high: number) => UPlot.Range.MinMax,
): Omit<UPlot.Options, 'series'> {
  const axis = axisOf(element)
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { x: false, y: false, drag: { setScale: false, x: false, y: false }, points: { show: false } },
    hooks: {
      ready:
        open === undefined ? [] : [(plot) => plot.over.addEventListener('click', () => plot.cursor.idx != null && open(plot.cursor.idx))],
    },
    scales: {
      x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] },
      y: { range: (_, _low, high) => range(high) },
    },
    axes: [
      { ...axis, size: 30, grid: { show: false }, incrs: [1, 2, 5, 10, 15, 30, 90], values: (_, ats) => ats.map((at) => days[at] ?? '') },
      leftAxisOf(axis, showValue),
    ],
  }
}

const barOf = (colour: string, paths: UPlot.Series.PathBuilder | undefined): UPlot.Series => ({
  fill: colour,
  stroke: colour,
  width: 0,
  points: { show: false },
  ...(paths === undefined ? {} : { paths }),
})
