/** A modal `<dialog>`: the browser keeps the focus inside and closes it on Escape; the focus then returns to the element that had it. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** An element that shows a secret for the only time has this attribute. While the dialog contains one, only a button closes it, not Escape. */
export const SHOWN_ONCE = { 'data-shown-once': true } as const

/** `close` is called after the dialog has closed, by Escape or by a button; the parent then stops rendering it. */
export function Dialog({ title, close, children }: Readonly<{ title: string; close: () => void; children: ComponentChildren }>) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    // Without this line the browser focuses the button that closes the dialog.
    dialog.current?.querySelector<HTMLElement>('[data-first]')?.focus()
    // A browser lets a page prevent the dialog's `cancel` only for a first Escape, but the `keydown` each time, which reaches the window from wherever
    // the focus is.
    const keep = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && dialog.current?.querySelector('[data-shown-once]')) event.preventDefault()
    }
    addEventListener('keydown', keep, true)
    return () => {
      removeEventListener('keydown', keep, true)
      // An element behind a modal dialog cannot take the focus, and the dialog is still there now; it is gone when the microtask runs.
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
