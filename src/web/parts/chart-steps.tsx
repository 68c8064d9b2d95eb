/**
 * Leads through the bars of a chart by keyboard: arrows, Home and End point at one, Enter opens it. It is seen while it has the focus. Source:
 * https://www.w3.org/WAI/ARIA/apg/patterns/slider/. Rules: pages.md "Tables".
 */

import { useState } from 'preact/hooks'

type Steps = Readonly<{
  /** What Enter does, such as "Enter shows the requests of a bar". */
  label: string
  count: number
  textOf: (index: number) => string
  point: (index: number | null) => void
  open: (index: number) => void
  /** What Enter does with Shift. */
  alone?: (index: number) => void
}>

export function ChartSteps({ label, count, textOf, point, open, alone }: Steps) {
  const [chosen, setChosen] = useState(count - 1)
  const at = Math.min(chosen, count - 1)
  if (count === 0) return null
  return (
    <input
      class="chart-steps"
      type="range"
      aria-label={label}
      title={label}
      aria-valuetext={textOf(at)}
      min={0}
      max={count - 1}
      value={at}
      onFocus={() => point(at)}
      onBlur={() => point(null)}
      onInput={({ currentTarget }) => {
        setChosen(Number(currentTarget.value))
        point(Number(currentTarget.value))
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter') return
        event.preventDefault()
        // The bar as it stands: what was pressed before may not be drawn yet.
        const act = event.shiftKey && alone !== undefined ? alone : open
        act(Number(event.currentTarget.value))
      }}
    />
  )
}
