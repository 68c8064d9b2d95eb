/** A form with a button; a mistake, or the time to wait before the next try, stands above the button. */

import type { ComponentChildren } from 'preact'
import type { Act } from './act.ts'

export const Form = ({
  act,
  submit,
  fields = [],
  button,
  kind = 'primary',
  isCard = false,
  more,
  children,
}: Readonly<{
  act: Act
  submit: () => void
  /** The names of inputs that show their own mistakes. */
  fields?: readonly string[]
  button: string
  kind?: 'primary' | 'plain' | 'danger'
  isCard?: boolean
  /** Elements beside the button. */
  more?: ComponentChildren
  children?: ComponentChildren
}>) => {
  const error = act.otherError(fields)
  return (
    <form
      class={isCard ? 'card' : undefined}
      onSubmit={(event) => {
        event.preventDefault()
        if (!act.isRunning && act.waitS <= 0) submit()
      }}
    >
      {children}
      {error !== undefined && act.failure?.status !== 429 && (
        <p class="note bad" role="alert">
          {error}
        </p>
      )}
      {act.failure?.status === 429 && (
        <p class="note wary" role="alert">
          {act.waitS > 0 ? `Too many attempts. Try again in ${act.waitS} s.` : 'Try again now.'}
        </p>
      )}
      <div class="acts">
        <button type="submit" class={kind === 'plain' ? undefined : kind} aria-disabled={act.isRunning || act.waitS > 0}>
          {button}
        </button>
        {more}
      </div>
    </form>
  )
}
