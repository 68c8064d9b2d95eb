/** Rates of a key's own, beside those of its plan. Rules: keys.md "Rates"; pages.md "Acts of operators". */

import { useState } from 'preact/hooks'
import { Field } from '../../parts/field.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { type Key, type KeyDialogOptions, titleOf } from './key-dialog.ts'

const RATES = [
  ['requests_per_minute', 'Requests a minute'],
  ['input_tokens_per_minute', 'Input tokens a minute'],
  ['output_tokens_per_minute', 'Output tokens a minute'],
  ['concurrent_requests', 'Requests at once'],
] as const
type RateName = (typeof RATES)[number][0]

const shownOf = ({ rates }: Key, name: RateName): string => (rates?.[name] == null ? '' : `${rates[name]}`)
const rateOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

export const KeyRates = ({ keyOf, close, changed }: KeyDialogOptions) => {
  const [texts, setTexts] = useState(
    () => Object.fromEntries(RATES.map(([name]) => [name, shownOf(keyOf, name)])) as Record<RateName, string>,
  )
  const wanted = Object.fromEntries(
    RATES.filter(([name]) => texts[name].trim() !== shownOf(keyOf, name)).map(([name]) => [name, rateOf(texts[name])]),
  )
  return (
    <ActDialog
      title={`Rates of ${titleOf(keyOf)}`}
      button="Set"
      fields={RATES.map(([name]) => name)}
      close={close}
      send={({ reason }) => api.keys({ keyId: keyOf.id }).rates.post({ ...wanted, reason })}
      done={() => {
        close()
        changed()
      }}
    >
      {(act) => (
        <>
          <p>They hold beside those of its plan.</p>
          {RATES.map(([name, label], index) => (
            <Field
              key={name}
              label={label}
              hint="Empty for none"
              type="number"
              min="1"
              autoFocus={index === 0}
              value={texts[name]}
              change={(text) => setTexts({ ...texts, [name]: text })}
              error={act.errorOf(name)}
            />
          ))}
        </>
      )}
    </ActDialog>
  )
}
