/** Inputs with their label, hint and mistake, tied together for screen readers. */

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

type Around = Readonly<{ label: string; hint?: string | undefined; error?: string | undefined }>

type InputOptions = Readonly<{
  name?: string
  type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'search' | 'url'
  value?: string
  placeholder?: string
  autocomplete?: string
  inputMode?: 'decimal' | 'numeric' | 'text'
  required?: boolean
  disabled?: boolean
  autoFocus?: boolean
  spellcheck?: boolean
  minLength?: number
  maxLength?: number
  min?: string
  max?: string
  pattern?: string
  step?: string
}>

export type Option = Readonly<{ value: string; text: string; isDisabled?: boolean }>

/** `isFirst`: the input has the focus when its dialog opens. */
type SelectOptions = Readonly<{ isFirst?: boolean; name?: string; value?: string; disabled?: boolean }>

export function Field({
  label,
  hint,
  error,
  change,
  autoFocus,
  ...input
}: Around & InputOptions & Readonly<{ change?: (value: string) => void }>) {
  const id = useId()
  const field = useRef<HTMLInputElement>(null)
  // Browsers heed the attribute `autofocus` only while they load a page.
  useEffect(() => {
    if (autoFocus) field.current?.focus()
  }, [])
  return (
    <Framed id={id} label={label} hint={hint} error={error}>
      <input
        {...(input as object)}
        ref={field}
        data-first={autoFocus}
        {...described(id, hint, error)}
        id={id}
        onInput={({ currentTarget }) => change?.(currentTarget.value)}
      />
    </Framed>
  )
}

export function Choice({
  label,
  hint,
  error,
  options,
  change,
  isFirst,
  ...select
}: Around & SelectOptions & Readonly<{ options: readonly Option[]; change?: (value: string) => void }>) {
  const id = useId()
  return (
    <Framed id={id} label={label} hint={hint} error={error}>
      <select
        {...select}
        data-first={isFirst}
        {...described(id, hint, error)}
        id={id}
        onChange={({ currentTarget }) => change?.(currentTarget.value)}
      >
        {options.map(({ value, text, isDisabled }) => (
          <option key={value} value={value} disabled={isDisabled}>
            {text}
          </option>
        ))}
      </select>
    </Framed>
  )
}

/** A choice of any number of options. Nothing is shown where there is no option. */
export function Ticks({
  label,
  error,
  options,
  value,
  change,
}: Readonly<{
  label: string
  error?: string | undefined
  options: readonly Option[]
  value: readonly string[]
  change: (value: readonly string[]) => void
}>) {
  const id = useId()
  if (options.length === 0 && error === undefined) return null
  return (
    <fieldset class="ticks" {...described(id, undefined, error)}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} class="tick">
          <input
            type="checkbox"
            checked={value.includes(option.value)}
            onChange={({ currentTarget }) =>
              change(currentTarget.checked ? [...value, option.value] : value.filter((one) => one !== option.value))
            }
          />
          <span>{option.text}</span>
        </label>
      ))}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

function described(id: string, hint: string | undefined, error: string | undefined) {
  if (error !== undefined) return { 'aria-invalid': true, 'aria-describedby': `${id}-error` }
  return hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }
}

const Framed = ({ id, label, hint, error, children }: Around & Readonly<{ id: string; children: ComponentChildren }>) => (
  <div class="field">
    <label for={id}>{label}</label>
    {children}
    {hint !== undefined && error === undefined && (
      <p class="field-hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error !== undefined && (
      <p class="field-error" id={`${id}-error`} role="alert">
        {error}
      </p>
    )}
  </div>
)
