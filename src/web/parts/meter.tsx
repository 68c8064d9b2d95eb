/** A bar that shows how much of an amount is used. The text beside the bar says the same, so the bar is hidden from screen readers. */

const WARY_FROM = 0.8

/** How much of a limit is used; one of 0 is used up. */
export const shareOf = (used: number, limit: number): number => (limit === 0 ? 1 : used / limit)

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
