/** Does an act again and again while the page is visible, and never twice at once. */

import { useEffect, useRef } from 'preact/hooks'

/** `isOn`: false pauses the repetition. Each repetition calls the `act` of the latest render. */
export function useEvery(ms: number, isOn: boolean, act: () => Promise<void>): void {
  const current = useRef(act)
  current.current = act
  useEffect(() => {
    if (!isOn) return
    let isActing = false
    const timer = setInterval(() => {
      if (isActing || document.visibilityState === 'hidden') return
      isActing = true
      current
        .current()
        .catch(() => undefined)
        .finally(() => {
          isActing = false
        })
    }, ms)
    return () => clearInterval(timer)
  }, [ms, isOn])
}
