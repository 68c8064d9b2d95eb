/** A menu behind a button: it closes on Escape, on a choice and when the focus goes elsewhere. */

import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'

/** `stays`: several choices can be made before it closes; they are in the page only while it is open. */
export const Menu = ({
  label,
  stays = false,
  children,
}: Readonly<{ label: ComponentChildren; stays?: boolean; children: ComponentChildren }>) => {
  const menu = useRef<HTMLDetailsElement>(null)
  const [isOpen, setOpen] = useState(false)
  const close = (): void => menu.current?.removeAttribute('open')
  return (
    <details
      ref={menu}
      class="menu"
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      onKeyDown={({ key }) => {
        if (key !== 'Escape') return
        close()
        menu.current?.querySelector('summary')?.focus()
      }}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Node && !menu.current?.contains(relatedTarget)) close()
      }}
    >
      <summary>{label}</summary>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on a link or button is a click. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: see above. */}
      <div class="menu-open" onClick={stays ? undefined : close}>
        {(isOpen || !stays) && children}
      </div>
    </details>
  )
}
