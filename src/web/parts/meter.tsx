/** How much of something is used, as a bar. What it says stands beside it as text, so it is hidden from screen readers. */

const WARY_FROM = 0.8

/** `share`: 0 to 1; more is shown as full. */
export const Meter = ({ share }: Readonly<{ share: number }>) => {
  const state = share >= 1 ? 'full' : share >= WARY_FROM ? 'wary' : 'calm'
  return (
    <svg class={`meter ${state}`} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="meter-room" width="100" height="1" />
      <rect class="meter-used" width={Math.max(0, Math.min(share, 1)) * 100} height="1" />
    </svg>
  )
}
