/** Sends a trial to the receivers of an alert or webhook; its result stands among the deliveries. */

import { useState } from 'preact/hooks'
import type { AskResult } from '../../parts/ask.ts'
import { tell } from '../../parts/told.tsx'

export const TestButton = ({
  label,
  test,
  tested,
}: Readonly<{ label: string; test: () => Promise<AskResult<unknown>>; tested: () => void }>) => {
  const [isRunning, setRunning] = useState(false)
  const run = async (): Promise<void> => {
    setRunning(true)
    const { failure } = await test()
    setRunning(false)
    if (failure === undefined) {
      tell('A test is on its way: see the deliveries')
      tested()
    } else tell(failure.retryAfterS === undefined ? failure.message : `${failure.message}: ${failure.retryAfterS} s`, { isError: true })
  }
  return (
    <button
      type="button"
      class="small"
      aria-label={`Test: ${label}`}
      aria-disabled={isRunning}
      onClick={() => {
        if (!isRunning) run().catch(() => undefined)
      }}
    >
      Test
    </button>
  )
}
