/** A dialog of the browser's own: it keeps the focus inside, closes by Escape and gives the focus back. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** What is shown once stands in an element with this attribute: Escape does not take it away, a button does. */
export const SHOWN_ONCE = { 'data-shown-once': true } as const

/** `close` is called however it ends; who shows it then takes it away. */
export function Dialog({ title, close, children }: Readonly<{ title: string; close: () => void; children: ComponentChildren }>) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    // Else it is the button that closes it.
    dialog.current?.querySelector<HTMLElement>('[data-first]')?.focus()
    // A browser lets a page hold back the `cancel` of a first Escape only, but the key itself each time, wherever the focus is.
    const keep = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && dialog.current?.querySelector('[data-shown-once]')) event.preventDefault()
    }
    addEventListener('keydown', keep, true)
    return () => {
      removeEventListener('keydown', keep, true)
      // Nothing behind a modal dialog takes the focus, and this one is taken away only after this.
      if (opener instanceof HTMLElement) queueMicrotask(() => opener.focus())
    }
  }, [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={close}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}
