/** How cabinet and console begin and go on: the frame in which they are drawn, and where the focus is after a way to another page. */

import { type ComponentType, render } from 'preact'
import { LocationProvider } from 'preact-iso/router'

/** `root`: `/cabinet` or `/console`. */
export function showPages(root: string, Pages: ComponentType): void {
  const frame = document.getElementById('app')
  if (frame === null) return
  render(
    <LocationProvider scope={root}>
      <Pages />
    </LocationProvider>,
    frame,
  )
}

/** Who goes to another page reads on at its beginning, unless a field there has the focus already. The view stays at the top, where the router has put it: the way back is there. */
export function toContent(): void {
  const content = document.getElementById('content')
  if (content !== null && !content.contains(document.activeElement)) content.focus({ preventScroll: true })
}
