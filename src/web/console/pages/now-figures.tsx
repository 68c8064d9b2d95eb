/** The figures of the page "Now", each with its last two minutes, and the facts beside them. Rules: pages.md "Now". */

import type { ComponentChildren } from 'preact'

/** `behind`: the address of the rows that the value is of. `note`: a second line below the value. `spark`: a value a second, the newest last. */
export const Figure = ({
  name,
  value,
  behind,
  note = '',
  spark,
}: Readonly<{ name: string; value: ComponentChildren; behind?: string; note?: string; spark?: readonly number[] }>) => (
  <div>
    <dt>{name}</dt>
    <dd>{behind === undefined ? value : <a href={behind}>{value}</a>}</dd>
    <dd title={note}>{note === '' ? ' ' : note}</dd>
    {spark !== undefined && (
      <dd>
        <Spark values={spark} />
      </dd>
    )}
  </div>
)

export const Fact = ({ name, value }: Readonly<{ name: string; value: ComponentChildren }>) => (
  <>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </>
)

/** How many bars are drawn at most. */
const BARS = 120
const HEIGHT = 24

/** Small bars, the newest at the right. They are only for the eye: screen readers read the figure beside them. */
const Spark = ({ values }: Readonly<{ values: readonly number[] }>) => {
  const shown = values.slice(-BARS)
  const most = Math.max(1, ...shown)
  const path = shown
    .map((value, index) => ({ x: BARS - shown.length + index, height: (value / most) * HEIGHT }))
    .filter(({ height }) => height > 0)
    .map(({ x, height }) => `M${x + 0.5} ${HEIGHT}v${-Math.max(1, height).toFixed(1)}`)
    .join('')
  return (
    <svg class="spark" viewBox={`0 0 ${BARS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}
