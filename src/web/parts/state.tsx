/** What a page shows in place of its content: that it is loading, that there is nothing yet, or that it failed; the last two say what to do next. */

import type { ComponentChildren } from 'preact'
import type { Loaded } from './ask.ts'

export const Empty = ({ title, children }: Readonly<{ title: string; children?: ComponentChildren }>) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

export const Failed = ({ message, again }: Readonly<{ message: string; again?: () => void }>) => (
  <div class="empty" role="alert">
    <p class="empty-title">{message}</p>
    {again !== undefined && (
      <button type="button" onClick={again}>
        Try again
      </button>
    )}
  </div>
)

/** Room that is kept while a part loads, so that nothing jumps. */
export const Waiting = ({ lines = 4 }: Readonly<{ lines?: number }>) => (
  <div class="waiting" aria-busy="true" role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, line) => (
      <span key={line} />
    ))}
  </div>
)

/** Shows the loaded value, even while it is asked for again. */
export function Show<T>({
  loaded,
  again,
  lines,
  children,
}: Readonly<{ loaded: Loaded<T>; again?: () => void; lines?: number; children: (value: T) => ComponentChildren }>) {
  if (loaded.state === 'failed') return <Failed message={loaded.failure.message} {...(again === undefined ? {} : { again })} />
  if (loaded.value === undefined) return <Waiting {...(lines === undefined ? {} : { lines })} />
  return (
    <div class="stack" aria-busy={loaded.state === 'loading'}>
      {children(loaded.value)}
    </div>
  )
}
