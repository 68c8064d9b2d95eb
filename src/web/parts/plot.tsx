/** A canvas drawn by uPlot that follows its frame's width and the theme. It is hidden from screen readers: each chart says the same in a table or in words beside it. */

import { useEffect, useRef } from 'preact/hooks'
import './language.ts'
import UPlot from 'uplot'

export const HEIGHT_PX = 240

/**
 * `options`: made for the frame that the canvas is in, whose style has the colours. A new function or new data draws it anew. `point`: called when a pointer comes to another
 * place of the data, and with null when it leaves.
 */
type Plotted = Readonly<{
  options: (element: HTMLElement) => UPlot.Options
  data: UPlot.AlignedData
  point: (index: number | null) => void
}>

export const Plot = ({ options, data, point }: Plotted) => {
  const frame = useRef<HTMLDivElement>(null)
  const pointed = useRef<number | null>(null)
  // A plot that is drawn, or changes its size under a pointer that rests, takes no place away that was pointed at by keyboard.
  const setCursor = ({ cursor: { idx, event } }: UPlot): void => {
    const at = idx ?? null
    if (event == null || at === pointed.current) return
    pointed.current = at
    point(at)
  }
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const draw = () => {
      const { hooks, ...drawn } = options(element)
      return new UPlot({ ...drawn, hooks: { ...hooks, setCursor: [setCursor] } }, data, element)
    }
    let plot = draw()
    const redraw = (): void => {
      plot.destroy()
      plot = draw()
    }
    const theme = matchMedia('(prefers-color-scheme: dark)')
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: plot.height }))
    theme.addEventListener('change', redraw)
    resized.observe(element)
    return () => {
      theme.removeEventListener('change', redraw)
      resized.disconnect()
      plot.destroy()
    }
  }, [options, data])
  return <div class="chart-frame" ref={frame} />
}

/** The look of an axis in the theme of the moment. */
export function axisOf(element: HTMLElement) {
  const style = getComputedStyle(element)
  const line = style.getPropertyValue('--line')
  const of = { stroke: line, width: 1 }
  return { stroke: style.getPropertyValue('--ink-quiet'), grid: of, ticks: of, font: `12px ${style.fontFamily}` }
}

/** The axis on the left, as wide as its longest text needs, and no less than those of most. */
export const leftAxisOf = (axis: ReturnType<typeof axisOf>, showValue: (value: number) => string): UPlot.Axis => ({
  ...axis,
  size: (_, texts) => Math.max(64, ...(texts ?? []).map(({ length }) => 16 + 7 * length)),
  values: (_, values) => values.map(showValue),
})
