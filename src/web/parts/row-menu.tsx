/**
 * The acts on a row, in one menu behind a button: above the table, which would cut it off, and closed by Escape, by a choice and by a click elsewhere.
 * Source: https://developer.mozilla.org/docs/Web/API/Popover_API. Rules: pages.md "Tables".
 */

import { useId, useRef } from 'preact/hooks'

/** `run`: what the act does. `text` ends in an ellipsis where a dialog asks first. `id`: where two acts may have one text. */
export type RowAct = Readonly<{ id?: string; text: string; run: () => void }>

/** `of`: what the row is about, for screen readers. */
export function RowMenu({ of, acts }: Readonly<{ of: string; acts: readonly RowAct[] }>) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  return (
    <>
      <button ref={button} type="button" class="small" popovertarget={id} aria-label={`Actions for ${of}`}>
        <span aria-hidden="true">⋯</span>
      </button>
      <div ref={menu} id={id} popover="auto" class="menu-open row-menu" onToggle={() => place(button.current, menu.current)}>
        {acts.map(({ id: own, text, run }) => (
          <button
            key={own ?? text}
            type="button"
            onClick={() => {
              menu.current?.hidePopover()
              run()
            }}
          >
            {text}
            <span class="unseen"> {of}</span>
          </button>
        ))}
      </div>
    </>
  )
}

const GAP_PX = 4

/** Below the button and flush with its right edge; above it where there is no room below. */
function place(button: HTMLElement | null, menu: HTMLElement | null): void {
  if (button === null || menu === null || !menu.matches(':popover-open')) return
  const at = button.getBoundingClientRect()
  const { width, height } = menu.getBoundingClientRect()
  const below = at.bottom + GAP_PX
  menu.style.left = `${Math.max(GAP_PX, at.right - width)}px`
  menu.style.top = `${below + height > innerHeight ? Math.max(GAP_PX, at.top - GAP_PX - height) : below}px`
}
