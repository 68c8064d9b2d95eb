/**
 * A choice of values, such as those of a filter, out of a list that is searched by a few letters, by keyboard or pointer: arrows lead through the list, Enter and a click choose
 * or take back, Escape closes. After a choice by letters the list closes, so that the next search begins without them; without letters it stays open for more choices. What is
 * chosen stands below by its name. Source: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/. Rules: pages.md "Tables".
 */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { ONLY_MAX } from '../../core/explore.ts'
import type { ChoiceDocument } from '../api/choices.ts'
import { type Choices, useChosen, useOffered } from './choices.ts'

type Picking = Readonly<{
  label: string
  choices: Choices
  values: readonly string[]
  change: (values: readonly string[]) => void
  /** At most so many. Where it is one, another choice takes its place. */
  most?: number
  /** Whether its form needs a choice to be sent. Text that is typed and not chosen is no choice. */
  isRequired?: boolean
  /** What stands in the field while nothing is chosen. */
  none?: string
  error?: string | undefined
}>

export function Pick({ label, choices, values, change, most = ONLY_MAX, isRequired = false, none = 'any', error }: Picking) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(0)
  const offered = useOffered(choices, isOpen, text.trim())
  const active = isOpen ? offered[at] : undefined
  const close = (): void => {
    setOpen(false)
    setText('')
    setAt(0)
  }
  const toggle = (value: string): void => {
    if (values.includes(value)) change(values.filter((one) => one !== value))
    else if (most === 1) change([value])
    else if (values.length < most) change([...values, value])
    if (most === 1 || text !== '') close()
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Escape' && isOpen) close()
    else if (event.key === 'Enter' && active !== undefined) toggle(active.value)
    else if (step !== undefined && !isOpen) setOpen(true)
    else if (step !== undefined && offered.length > 0) setAt((at + step + offered.length) % offered.length)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  useEffect(() => {
    if (active !== undefined) document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  useEffect(() => field.current?.setCustomValidity(isRequired && values.length === 0 ? 'Choose from the list' : ''), [isRequired, values])
  return (
    <>
      <div
        class="field pick"
        onFocusOut={({ relatedTarget, currentTarget }) => !currentTarget.contains(relatedTarget as Node | null) && close()}
      >
        <label for={id}>{label}</label>
        <input
          ref={field}
          id={id}
          {...comboboxOf(id, isOpen && offered.length > 0, active === undefined ? undefined : at, error)}
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          placeholder={values.length === 0 ? none : `${values.length} chosen`}
          value={text}
          onClick={() => setOpen(true)}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setAt(0)
            setOpen(true)
          }}
          onKeyDown={onKey}
        />
        <div
          id={`${id}-list`}
          role="listbox"
          aria-multiselectable={most > 1}
          aria-label={label}
          class={isOpen ? 'menu-open found' : 'unseen'}
        >
          {isOpen && <Offered id={id} offered={offered} at={at} values={values} toggle={toggle} />}
        </div>
        {error !== undefined && (
          <p class="field-error" id={`${id}-error`} role="alert">
            {error}
          </p>
        )}
      </div>
      <Chosen label={label} choices={choices} values={values} takeAway={toggle} />
    </>
  )
}

type Offering = Readonly<{
  id: string
  offered: readonly ChoiceDocument[]
  at: number
  values: readonly string[]
  toggle: (value: string) => void
}>

const Offered = ({ id, offered, at, values, toggle }: Offering) => (
  <>
    {offered.map(({ value, text: name, detail }, index) => (
      // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the one it is at.
      // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the field's.
      <div
        key={value}
        id={`${id}-${index}`}
        role="option"
        class={index === at ? 'is-at' : ''}
        aria-selected={values.includes(value)}
        onPointerDown={(event) => event.preventDefault()}
        onClick={() => toggle(value)}
      >
        <span aria-hidden="true">{values.includes(value) ? '✓' : ''}</span> <span class="name">{name}</span>{' '}
        <span class="quiet">{detail}</span>
      </div>
    ))}
  </>
)

const comboboxOf = (id: string, isOpen: boolean, at: number | undefined, error: string | undefined): object => ({
  role: 'combobox',
  'aria-autocomplete': 'list',
  'aria-expanded': isOpen,
  'aria-controls': `${id}-list`,
  ...(isOpen && at !== undefined ? { 'aria-activedescendant': `${id}-${at}` } : {}),
  ...(error === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': `${id}-error` }),
})

type Taking = Readonly<{ label: string; choices: Choices; values: readonly string[]; takeAway: (value: string) => void }>

function Chosen({ label, choices, values, takeAway }: Taking) {
  const chosen = useChosen(choices, values)
  if (values.length === 0) return null
  return (
    <div class="chips picked">
      {values.map((value) => {
        const name = chosen.get(value) ?? value
        return (
          <button
            key={value}
            type="button"
            class="chip"
            title={value}
            aria-label={`${label}: ${name}: take away`}
            onClick={() => takeAway(value)}
          >
            <span class="quiet">{label}</span> <span class="cut">{name}</span> <span aria-hidden="true">✕</span>
          </button>
        )
      })}
    </div>
  )
}
