/** How cabinet and console are drawn, and where the focus is after a change to another page. */

import { type ComponentType, render } from 'preact'
import { LocationProvider } from 'preact-iso/router'
import { copyExactly } from './copy-exact.ts'

/** `root`: `/cabinet` or `/console`. */
export function showPages(root: string, Pages: ComponentType): void {
  const frame = document.getElementById('app')
  if (frame === null) return
  copyExactly()
  render(
    <LocationProvider scope={root}>
      <Pages />
    </LocationProvider>,
    frame,
  )
}

/** Moves the focus to the beginning of a new page, unless a field of it has the focus already. The view stays at the top, where the router has put it, so that the bar is seen. */
export function toContent(): void {
  const content = document.getElementById('content')
  if (content !== null && !content.contains(document.activeElement)) content.focus({ preventScroll: true })
}
