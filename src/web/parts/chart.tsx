/**
 * Bars over days, stacked by name, drawn by uPlot into a canvas. The table beside a chart says the same for people who cannot see it, so the canvas is hidden
 * from screen readers. Its colours follow the theme.
 */

import { useMemo } from 'preact/hooks'
import './language.ts'
import UPlot from 'uplot'
import { axisOf, HEIGHT_PX, Plot } from './plot.tsx'

export type Series = Readonly<{ name: string; colour: string; values: readonly number[] }>

/** `showValue`: makes the texts of the axis on the left. `point`: called with the bar that is pointed at; null: none. `open`: called with a bar that is clicked. */
type Acts = Readonly<{
  showValue: (value: number) => string
  point: (index: number | null) => void
  open?: ((index: number) => void) | undefined
}>

/** `days`: the texts of the axis below. */
export function Bars({ days, series, showValue, point, open }: Acts & Readonly<{ days: readonly string[]; series: readonly Series[] }>) {
  const drawn = useMemo(
    () => ({ options: (element: HTMLElement) => optionsOf(element, days, series, { showValue, point, open }), data: dataOf(days, series) }),
    [days, series],
  )
  return (
    <figure class={open === undefined ? 'chart' : 'chart opens'} aria-hidden="true">
      <Plot {...drawn} />
      <Legend series={series} />
    </figure>
  )
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

/** Stacks each series on those before it. The tallest is drawn first, so that all are seen. */
function dataOf(days: readonly string[], series: readonly Series[]): UPlot.AlignedData {
  const tops = series.map((_, index) => days.map((_day, at) => sumAt(series.slice(0, index + 1), at)))
  return [days.map((_, at) => at), ...tops.reverse()]
}

const sumAt = (series: readonly Series[], at: number): number => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)

function optionsOf(
  element: HTMLElement,
  days: readonly string[],
  series: readonly Series[],
  { showValue, point, open }: Acts,
): UPlot.Options {
  const axis = axisOf(element)
  const paths = UPlot.paths.bars?.({ size: [0.7, 48] })
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { x: false, y: false, drag: { setScale: false, x: false, y: false }, points: { show: false } },
    hooks: {
      setCursor: [({ cursor: { idx } }) => point(idx ?? null)],
      ready:
        open === undefined ? [] : [(plot) => plot.over.addEventListener('click', () => plot.cursor.idx != null && open(plot.cursor.idx))],
    },
    scales: {
      x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] },
      y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 30, grid: { show: false }, incrs: [1, 2, 5, 10, 15, 30, 90], values: (_, ats) => ats.map((at) => days[at] ?? '') },
      { ...axis, size: 64, values: (_, values) => values.map(showValue) },
    ],
    series: [{}, ...series.toReversed().map(({ colour }) => barOf(colour, paths))],
  }
}

const barOf = (colour: string, paths: UPlot.Series.PathBuilder | undefined): UPlot.Series => ({
  fill: colour,
  stroke: colour,
  width: 0,
  points: { show: false },
  ...(paths === undefined ? {} : { paths }),
})
