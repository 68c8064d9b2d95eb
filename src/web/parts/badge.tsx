/** A state in one or two words. */

export type Mood = 'good' | 'wary' | 'bad' | 'quiet'

/** One word a state: what the ledger calls live is active on every page. */
export const stateText = (state: string): string => (state === 'live' ? 'active' : state)

export const Badge = ({ mood, text }: Readonly<{ mood: Mood; text: string }>) => (
  <span class={mood === 'quiet' ? 'badge' : `badge ${mood}`}>{text}</span>
)
