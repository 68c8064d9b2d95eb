/**
 * The field in the bar that finds things of every kind by a few letters, and leads to them: `/` leads to the field, arrows choose, Enter goes, Escape closes.
 * Source: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/. Rules: pages.md "Tables".
 */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { FoundThing } from '../api/find.ts'
import { type ApiResponse, ask } from './ask.ts'

type Found = Readonly<{ data: readonly FoundThing[] }>
const PAUSE_MS = 200

export function Find({
  label,
  look,
  pathOf,
}: Readonly<{ label: string; look: (text: string) => PromiseLike<ApiResponse<Found | Response>>; pathOf: (thing: FoundThing) => string }>) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const { route } = useLocation()
  const [text, setText] = useState('')
  const { things, isNone } = useFound(text.trim(), look)
  const [at, setAt] = useState(0)
  const close = (): void => {
    setText('')
    setAt(0)
  }
  useEffect(() => onSlash(() => field.current?.focus()), [])
  const go = (thing: FoundThing | undefined): void => {
    if (thing === undefined) return
    close()
    field.current?.blur()
    route(pathOf(thing))
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape') close()
    if (event.key === 'Enter') go(things[at])
    if (step !== undefined && things.length > 0) setAt((at + step + things.length) % things.length)
    if (step !== undefined || event.key === 'Enter') event.preventDefault()
  }
  const isOpen = text.trim() !== '' && (things.length > 0 || isNone)
  return (
    <search
      class="find"
      onFocusOut={({ relatedTarget, currentTarget }) => !currentTarget.contains(relatedTarget as Node | null) && close()}
    >
      <input
        ref={field}
        type="search"
        {...comboboxOf(id, label, isOpen, things[at] === undefined ? undefined : at)}
        placeholder="Find…  /"
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      <div id={`${id}-list`} role="listbox" aria-label="Found" class={isOpen ? 'menu-open found' : 'unseen'}>
        {isOpen &&
          things.map((thing, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the chosen one.
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the field's.
            <div
              key={`${thing.kind} ${thing.id}`}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => go(thing)}
            >
              <span class="quiet">{thing.kind}</span> <span class="name">{thing.title}</span> <span class="quiet">{thing.detail}</span>
            </div>
          ))}
      </div>
      <span class={isOpen && isNone ? 'menu-open found quiet' : 'unseen'} role="status">
        {isOpen && isNone ? 'Nothing found' : ''}
      </span>
    </search>
  )
}

/** What screen readers are told of the field. Its list is not a `datalist`, which the types of a search field ask for. */
const comboboxOf = (id: string, label: string, isOpen: boolean, at: number | undefined): object => ({
  role: 'combobox',
  'aria-label': label,
  'aria-autocomplete': 'list',
  'aria-expanded': isOpen,
  'aria-controls': `${id}-list`,
  ...(isOpen && at !== undefined ? { 'aria-activedescendant': `${id}-${at}` } : {}),
})

/** What was found for the text as it stands; an answer that comes after the text has changed is dropped. */
function useFound(text: string, look: (text: string) => PromiseLike<ApiResponse<Found | Response>>) {
  const [found, setFound] = useState<Readonly<{ text: string; things: readonly FoundThing[] }>>({ text: '', things: [] })
  useEffect(() => {
    if (text === '') return
    let isCurrent = true
    const timer = setTimeout(() => {
      ask(look(text)).then(
        ({ value }) => isCurrent && setFound({ text, things: value !== undefined && 'data' in value ? value.data : [] }),
        () => undefined,
      )
    }, PAUSE_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  const isAnswered = found.text === text
  return { things: isAnswered ? found.things : [], isNone: isAnswered && found.things.length === 0 }
}

/** Calls `focus` for a `/` that is typed into nothing. */
function onSlash(focus: () => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const { target } = event
    const isTyping = target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || document.querySelector('dialog[open]') !== null) return
    event.preventDefault()
    focus()
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}
