/** Text to copy, with a button that says when it is done. */

import { useRef, useState } from 'preact/hooks'

const DONE_MS = 2_000

export function CopyText({ text, label, isBlock = false }: Readonly<{ text: string; label: string; isBlock?: boolean }>) {
  const [isDone, setDone] = useState(false)
  const shown = useRef<HTMLElement>(null)
  const copy = (): void => {
    toClipboard(text, shown.current).then(
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is for inputs.
        <pre tabIndex={0} role="group" aria-label={label}>
          <code ref={shown}>{text}</code>
        </pre>
      ) : (
        <code ref={shown}>{text}</code>
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

/** A button that copies a text that is not on the page, made when it is pressed. On plain http, where a page may copy only what is selected, the text is shown. */
export function CopyButton({ name, make, isOff = false }: Readonly<{ name: string; make: () => string; isOff?: boolean }>) {
  const [text, setText] = useState('')
  const [isDone, setDone] = useState(false)
  const copy = (): void => {
    const made = make()
    setText(made)
    if (!window.isSecureContext) return
    navigator.clipboard.writeText(made).then(
      () => {
        setDone(true)
        setTimeout(setDone, DONE_MS, false)
      },
      () => undefined,
    )
  }
  return (
    <>
      <button type="button" class="small" disabled={isOff} onClick={copy}>
        {isDone ? 'Copied' : name}
      </button>
      <p class={text === '' ? 'unseen' : 'in-words'} role="status">
        {text}
      </p>
    </>
  )
}

/** Copies a text. On plain http, browsers only have the older way, which copies the selection; the text then stays selected. */
function toClipboard(text: string, shown: HTMLElement | null): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text)
  if (shown !== null) getSelection()?.selectAllChildren(shown)
  return document.execCommand('copy') ? Promise.resolve() : Promise.reject(new Error('not copied'))
}
