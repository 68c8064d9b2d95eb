/**
 * Bars over days, stacked by name, drawn by uPlot into a canvas. The table beside a chart says the same for those who cannot see it, so the canvas is hidden
 * from them. Its colours are those of the theme and follow it.
 */

import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'

export type Series = Readonly<{ name: string; values: readonly number[] }>

const HEIGHT_PX = 240
/** By contrast on both papers; after the last they begin anew. */
export const COLOURS = ['#0b8a6a', '#4f6bd8', '#c9822b', '#a8479b', '#2f95b8', '#b94a48', '#6f8f2f', '#7a6a58'] as const
export const colourOf = (index: number): string => COLOURS[index % COLOURS.length] ?? COLOURS[0]

/** `days`: as the axis shows them. `showValue`: of the axis on the left. */
export function Bars({
  days,
  series,
  showValue,
}: Readonly<{ days: readonly string[]; series: readonly Series[]; showValue: (value: number) => string }>) {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const draw = () => new UPlot(optionsOf(element, days, series, showValue), dataOf(days, series), element)
    let plot = draw()
    const redraw = (): void => {
      plot.destroy()
      plot = draw()
    }
    const theme = matchMedia('(prefers-color-scheme: dark)')
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    theme.addEventListener('change', redraw)
    resized.observe(element)
    return () => {
      theme.removeEventListener('change', redraw)
      resized.disconnect()
      plot.destroy()
    }
  }, [days, series])
  return (
    <figure class="chart" aria-hidden="true">
      <div class="chart-frame" ref={frame} />
      <Legend names={series.map(({ name }) => name)} />
    </figure>
  )
}

const Legend = ({ names }: Readonly<{ names: readonly string[] }>) => (
  <ul class="legend">
    {names.map((name, index) => (
      <li key={name}>
        <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
          <rect width="10" height="10" rx="2" fill={colourOf(index)} />
        </svg>
        {name}
      </li>
    ))}
  </ul>
)

/** Each series on top of those before it; the tallest is drawn first, so that all are seen. */
function dataOf(days: readonly string[], series: readonly Series[]): UPlot.AlignedData {
  const tops = series.map((_, index) => days.map((_day, at) => sumAt(series.slice(0, index + 1), at)))
  return [days.map((_, at) => at), ...tops.reverse()]
}

const sumAt = (series: readonly Series[], at: number): number => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)

function optionsOf(
  element: HTMLElement,
  days: readonly string[],
  series: readonly Series[],
  showValue: (value: number) => string,
): UPlot.Options {
  const style = getComputedStyle(element)
  const ink = style.getPropertyValue('--ink-quiet')
  const line = style.getPropertyValue('--line')
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: `12px ${style.fontFamily}` }
  const paths = UPlot.paths.bars?.({ size: [0.7, 48] })
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] },
      y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, incrs: [1, 2, 5, 10, 15, 30, 90], values: (_, ats) => ats.map((at) => days[at] ?? '') },
      { ...axis, size: 64, values: (_, values) => values.map(showValue) },
    ],
    series: [{}, ...series.map((_, index) => barOf(colourOf(series.length - 1 - index), paths))],
  }
}

const barOf = (colour: string, paths: UPlot.Series.PathBuilder | undefined): UPlot.Series => ({
  fill: colour,
  stroke: colour,
  width: 0,
  points: { show: false },
  ...(paths === undefined ? {} : { paths }),
})
