/**
 * A choice of several values of a filter out of a list that is searched by a few letters, by keyboard or pointer: arrows lead through the list, Enter and a click choose or
 * take back, Escape closes. What is chosen stands below by its name. Source: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/. Rules: pages.md "Tables".
 */

import { useEffect, useId, useState } from 'preact/hooks'
import { ONLY_MAX } from '../../core/explore.ts'
import { type Choices, useChosen, useOffered } from './choices.ts'

type Picking = Readonly<{
  label: string
  choices: Choices
  values: readonly string[]
  change: (values: readonly string[]) => void
}>

export function Pick({ label, choices, values, change }: Picking) {
  const id = useId()
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(0)
  const offered = useOffered(choices, isOpen, text.trim())
  const active = isOpen ? offered[at] : undefined
  const toggle = (value: string): void => {
    if (values.includes(value)) change(values.filter((one) => one !== value))
    else if (values.length < ONLY_MAX) change([...values, value])
  }
  const close = (): void => {
    setOpen(false)
    setText('')
    setAt(0)
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
  return (
    <>
      <div
        class="field pick"
        onFocusOut={({ relatedTarget, currentTarget }) => !currentTarget.contains(relatedTarget as Node | null) && close()}
      >
        <label for={id}>{label}</label>
        <input
          id={id}
          {...comboboxOf(id, isOpen && offered.length > 0, active === undefined ? undefined : at)}
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          placeholder={values.length === 0 ? 'any' : `${values.length} chosen`}
          value={text}
          onClick={() => setOpen(true)}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setAt(0)
            setOpen(true)
          }}
          onKeyDown={onKey}
        />
        <div id={`${id}-list`} role="listbox" aria-multiselectable="true" aria-label={label} class={isOpen ? 'menu-open found' : 'unseen'}>
          {isOpen &&
            offered.map(({ value, text: name, detail }, index) => (
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
        </div>
      </div>
      <Chosen label={label} choices={choices} values={values} takeAway={toggle} />
    </>
  )
}

const comboboxOf = (id: string, isOpen: boolean, at: number | undefined): object => ({
  role: 'combobox',
  'aria-autocomplete': 'list',
  'aria-expanded': isOpen,
  'aria-controls': `${id}-list`,
  ...(isOpen && at !== undefined ? { 'aria-activedescendant': `${id}-${at}` } : {}),
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
