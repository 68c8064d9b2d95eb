/** Text to copy, with a button that says when it is done. */

import { useState } from 'preact/hooks'

const DONE_MS = 2_000

export function CopyText({ text, label, isBlock = false }: Readonly<{ text: string; label: string; isBlock?: boolean }>) {
  const [isDone, setDone] = useState(false)
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        setDone(true)
        setTimeout(setDone, DONE_MS, false)
      },
      () => undefined,
    )
  }
  return (
    <div class={isBlock ? 'copy copy-block' : 'copy'}>
      {isBlock ? (
        <pre>
          <code>{text}</code>
        </pre>
      ) : (
        <code>{text}</code>
      )}
      <button type="button" class="small" aria-label={`Copy ${label}`} onClick={copy}>
        {isDone ? 'Copied' : 'Copy'}
      </button>
      <span class="unseen" role="status">
        {isDone ? `${label} copied` : ''}
      </span>
    </div>
  )
}
