/** Filters, which a phone folds into one line that says what is chosen; on a wider screen they stand open. Rules: pages.md "Tables". */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Choices, useChosen } from './choices.ts'
import { counted } from './show-time.ts'

/** What one filter is set to. `choices`: has the names of its values. */
export type Chosen = Readonly<{ label: string; values: readonly string[]; choices?: Choices | undefined }>

const PHONE = matchMedia('(max-width: 40rem)')
const UNNAMED: Choices = { offered: async () => [], chosen: async () => [], isFree: true }

/** `said`: what is asked for besides, in words. */
export const Fold = ({ said, chosen, children }: Readonly<{ said?: string; chosen: readonly Chosen[]; children: ComponentChildren }>) => {
  const [isOpen, setOpen] = useState(!PHONE.matches)
  useEffect(() => {
    const follow = (): void => setOpen(!PHONE.matches)
    PHONE.addEventListener('change', follow)
    return () => PHONE.removeEventListener('change', follow)
  }, [])
  return (
    <details class="fold" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {said !== undefined && `${said}; `}
        {chosen.length === 0 ? 'no filters' : `${counted(chosen.length, 'filter')}: `}
        {chosen.map((one, index) => (
          <Named key={one.label} {...one} end={index === chosen.length - 1 ? '' : ', '} />
        ))}
      </summary>
      {children}
    </details>
  )
}

const Named = ({ label, values, choices = UNNAMED, end }: Chosen & Readonly<{ end: string }>) => {
  const names = useChosen(choices, values)
  return (
    <>
      {label} {values.map((value) => names.get(value) ?? value).join(' or ')}
      {end}
    </>
  )
}
