/** Does something again and again while the page is looked at, and never twice at once. */

import { useEffect, useRef } from 'preact/hooks'

/** `isOn`: false pauses it. What `act` does last is what it does next. */
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
