/** A state in one or two words. */

export type Mood = 'good' | 'wary' | 'bad' | 'quiet'

export const Badge = ({ mood, text }: Readonly<{ mood: Mood; text: string }>) => (
  <span class={mood === 'quiet' ? 'badge' : `badge ${mood}`}>{text}</span>
)
