/**
 * The dialog of an operator's act: its inputs, a reason, and a button. The gateway gives the form an id when it opens, so that an act that is sent twice is done
 * once.
 * Rules: pages.md "Acts of operators".
 */

import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type Act, useAct } from '../parts/act.ts'
import { type ApiResponse, type AskResult, ask, type Found } from '../parts/ask.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { api } from './api.ts'

export type ActOptions<T> = Readonly<{
  title: string
  button: string
  kind?: 'primary' | 'danger'
  /** The names of inputs that show their own mistakes. */
  fields?: readonly string[]
  needsReason?: boolean
  send: (form: Readonly<{ id: string; reason: string }>) => PromiseLike<ApiResponse<T>>
  done: (value: Found<T>) => void
  close: () => void
  children?: (act: Act) => ComponentChildren
}>

export function ActDialog<T>(options: ActOptions<T>) {
  return (
    <Dialog title={options.title} close={options.close}>
      <ActForm {...options} />
    </Dialog>
  )
}

/** The form of an act alone, for a dialog that goes on with the result, such as a secret. */
export function ActForm<T>({ button, kind = 'primary', fields = [], needsReason = false, send, done, children }: ActOptions<T>) {
  // The id is asked for when the form opens; an operator who presses Enter before it is there waits for it.
  const form = useRef<Promise<AskResult<{ id: string }>>>(undefined)
  form.current ??= ask(api['form-id'].get())
  const [reason, setReason] = useState('')
  const act = useAct()
  const sendForm = async (): Promise<AskResult<Found<T>>> => {
    const asked = (await form.current) ?? (await ask(api['form-id'].get()))
    if (asked.failure === undefined) return ask<T>(send({ id: asked.value.id, reason: reason.trim() }))
    form.current = undefined
    return asked
  }
  const submit = (): void => act.run(sendForm, done)
  return (
    <Form act={act} fields={[...fields, 'reason']} button={button} kind={kind} submit={submit}>
      {children?.(act)}
      <Field
        label={needsReason ? 'Reason' : 'Reason (optional)'}
        hint={needsReason ? 'For the audit log; the account sees it too' : 'For the audit log'}
        maxLength={200}
        autocomplete="off"
        required={needsReason}
        value={reason}
        change={setReason}
        error={act.errorOf('reason')}
      />
    </Form>
  )
}
