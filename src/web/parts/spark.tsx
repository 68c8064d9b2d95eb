/** A figure's last two minutes as small bars; the newest is at the right. Only for the eye: the figure beside it is what is read out. */

const BARS = 120
const HEIGHT = 24

export const Spark = ({ values }: Readonly<{ values: readonly number[] }>) => {
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
