/** Where the values of a filter come from: a list of the page, or what the gateway finds by a few letters; and the names of those that were chosen. Rules: pages.md "Tables". */

import { useEffect, useState } from 'preact/hooks'
import type { ChoiceDocument } from '../api/choices.ts'
import { type ApiResponse, ask } from './ask.ts'
import { idsIn, idsText } from './explore-view.ts'
import { FORMAT_WORDS } from './request-words.ts'

/** `isFree`: what is typed can be chosen as it stands, such as a model that is sold no more. */
export type Choices = Readonly<{
  offered: (text: string) => Promise<readonly ChoiceDocument[]>
  chosen: (values: readonly string[]) => Promise<readonly ChoiceDocument[]>
  isFree: boolean
}>

const PAUSE_MS = 200

/** A list that the page has. */
export const listed = (options: readonly Readonly<{ value: string; text: string }>[]): Choices => {
  const all = options.map((option) => ({ ...option, detail: '' }))
  return {
    offered: async (text) => all.filter(({ text: name }) => name.toLowerCase().includes(text.toLowerCase())),
    chosen: async (values) => all.filter(({ value }) => values.includes(value)),
    isFree: false,
  }
}

export const FORMATS = listed(Object.entries(FORMAT_WORDS).map(([value, text]) => ({ value, text })))

/** Tags are typed; what has none, or one too many, is offered. */
export const TAGS: Choices = { ...listed(['(none)', '(other)'].map((value) => ({ value, text: value }))), isFree: true }

type Asking = (
  query: Readonly<{ q?: string; ids?: string }>,
) => PromiseLike<ApiResponse<Readonly<{ data: readonly ChoiceDocument[] }> | Response>>

/** What the gateway finds; nothing where it does not answer. */
export const lookedUp = (look: Asking, isFree = false): Choices => {
  const found = async (query: Readonly<{ q?: string; ids?: string }>) => {
    const { value } = await ask(look(query))
    return value !== undefined && 'data' in value ? value.data : []
  }
  return { offered: (q) => found({ q }), chosen: (values) => found({ ids: idsText(values) }), isFree }
}

/** What is offered for the text as it stands, while the list is open; an answer that comes after the text has changed is dropped. */
export function useOffered(choices: Choices, isOpen: boolean, text: string): readonly ChoiceDocument[] {
  const [found, setFound] = useState<Readonly<{ text: string; list: readonly ChoiceDocument[] }>>({ text: '', list: [] })
  useEffect(() => {
    if (!isOpen) return
    let isCurrent = true
    const timer = setTimeout(
      () => {
        choices.offered(text).then(
          (list) => isCurrent && setFound({ text, list }),
          () => undefined,
        )
      },
      text === '' ? 0 : PAUSE_MS,
    )
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [choices, isOpen, text])
  if (!isOpen || found.text !== text) return []
  const isTyped = choices.isFree && text !== '' && !found.list.some(({ value }) => value === text)
  return isTyped ? [...found.list, { value: text, text, detail: 'as it is typed' }] : found.list
}

/** The names of what was chosen, by value; those that are not known yet are left out. */
export function useChosen(choices: Choices, values: readonly string[]): ReadonlyMap<string, string> {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map())
  const key = values.join()
  useEffect(() => {
    if (key === '') return
    let isCurrent = true
    choices.chosen(values).then(
      (list) => isCurrent && setNames(new Map(list.map(({ value, text }) => [value, text]))),
      () => undefined,
    )
    return () => {
      isCurrent = false
    }
  }, [choices, key])
  return names
}

/** The values of a filter in an address. */
export const valuesOf = (list: string | undefined): readonly string[] => (list === undefined || list === '' ? [] : idsIn(list))
