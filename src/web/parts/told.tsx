/** One short message after an act, at the foot of the page. Screen readers say it, and the next message replaces it. */

import { signal } from '@preact/signals'

const SHOWN_MS = 6_000

const current = signal<Readonly<{ text: string; isError: boolean }> | undefined>(undefined)
let timer: ReturnType<typeof setTimeout> | undefined

export function tell(text: string, { isError = false }: { isError?: boolean } = {}): void {
  current.value = { text, isError }
  clearTimeout(timer)
  timer = setTimeout(() => {
    current.value = undefined
  }, SHOWN_MS)
}

export const Told = () => (
  <div class="told" role="status" aria-live="polite">
    {current.value !== undefined && <p class={current.value.isError ? 'is-error' : undefined}>{current.value.text}</p>}
  </div>
)
