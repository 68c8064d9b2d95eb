/** Inputs that many forms have: a name, and an amount of money. The form's act has their mistakes. */

import type { Act } from './act.ts'
import { Field } from './field.tsx'

type Typed = Readonly<{
  act: Act
  value: string
  change: (value: string) => void
  hint?: string
  required?: boolean
  autoFocus?: boolean
}>

/** The input for the name of a key or an account. */
export const NameField = ({ act, ...typed }: Typed) => (
  <Field label="Name" maxLength={128} autocomplete="off" {...typed} error={act.errorOf('name')} />
)

/** `field`: the name of the amount in the body that is sent. */
export const UsdField = ({ act, field, ...typed }: Typed & Readonly<{ field: string; label: string; maxLength?: number }>) => (
  <Field inputMode="decimal" autocomplete="off" {...typed} error={act.errorOf(field)} />
)
