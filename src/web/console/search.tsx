/** A field that looks up while an operator types: it asks when the typing pauses, not with every key. */

import { useEffect, useState } from 'preact/hooks'
import { Field } from '../parts/field.tsx'

const PAUSE_MS = 250

export function usePaused<T>(value: T): T {
  const [paused, setPaused] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return paused
}

export const Search = ({
  label,
  hint,
  value,
  change,
}: Readonly<{ label: string; hint: string; value: string; change: (value: string) => void }>) => (
  <search class="narrow">
    <Field type="search" label={label} hint={hint} maxLength={200} autocomplete="off" spellcheck={false} value={value} change={change} />
  </search>
)
