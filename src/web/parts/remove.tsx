/** A button that removes a thing with its second press; the first press says which thing. */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import type { AskResult } from './ask.ts'
import { Form } from './form.tsx'

/** `what`: the words after "Remove". */
export const Remove = ({
  what,
  hint,
  remove,
  removed,
}: Readonly<{ what: string; hint: string; remove: () => Promise<AskResult<unknown>>; removed: () => void }>) => {
  const [isSure, setSure] = useState(false)
  const act = useAct()
  return (
    <Form
      act={act}
      kind="danger"
      button={isSure ? 'Remove it now' : `Remove ${what}`}
      submit={() => (isSure ? act.run(remove, removed) : setSure(true))}
      more={
        isSure && (
          <button type="button" onClick={() => setSure(false)}>
            Keep it
          </button>
        )
      }
    >
      <p class={isSure ? 'note wary' : 'field-hint'}>{hint}</p>
    </Form>
  )
}
