/**
 * A model route in the document: what it takes and answers, in one piece and as a stream, and its examples. The route does not use its schemas while a request runs:
 * with a body schema Elysia would read the body and drop the fields that it does not know. Rules: platform.md "Elysia";
 * https://spec.openapis.org/oas/v3.1.1.html#operation-object.
 */

import { type TSchema, type TUnsafe, Type } from '@sinclair/typebox'
import type { DocumentDecoration } from 'elysia'

/** Members that are not listed are allowed. */
export const OPEN = { additionalProperties: true } as const

/** A string that is one of these. */
export const oneOf = <Value extends string>(...values: readonly Value[]): TUnsafe<Value> => Type.Unsafe({ type: 'string', enum: values })

/** A request as a client sends it and what the simulator answers: an object, or the text of a stream. A test sends every one. */
type Example = Readonly<{ summary: string; request: unknown; answer: unknown }>
type Examples = Readonly<Record<string, Example>>

type Operation = Readonly<{
  operationId: string
  tag: string
  summary: string
  description: string
  request: TSchema
  answer: TSchema
  /** The events of a stream, one after another. */
  stream?: Readonly<{ event: TSchema; description: string }>
  parameters?: readonly HeaderParameter[]
  examples: Examples
}>

export type HeaderParameter = Readonly<{ name: string; in: 'header'; description: string; schema: TSchema }>

/** The route's `detail`, which the plugin takes over as it is. */
export function operationOf({
  operationId,
  tag,
  summary,
  description,
  request,
  answer,
  stream,
  parameters,
  examples,
}: Operation): DocumentDecoration {
  const all = Object.entries(examples)
  const streamed = all.filter(([, example]) => typeof example.answer === 'string')
  const whole = all.filter(([, example]) => typeof example.answer !== 'string')
  const answers = (from: typeof all) =>
    Object.fromEntries(from.map(([name, example]) => [name, { summary: example.summary, value: example.answer }]))
  const requests = Object.fromEntries(all.map(([name, example]) => [name, { summary: example.summary, value: example.request }]))
  const body = { required: true, content: { 'application/json': { schema: request, examples: requests } } }
  const events =
    stream === undefined
      ? {}
      : {
          'text/event-stream': {
            schema: { type: 'string', description: stream.description },
            examples: answers(streamed),
            'x-event-schema': stream.event,
          },
        }
  const ok = {
    description: answer.description ?? summary,
    content: { 'application/json': { schema: answer, examples: answers(whole) }, ...events },
  }
  const detail = { operationId, tags: [tag], summary, description, requestBody: body, responses: { 200: ok } }
  // Elysia's types are those of OpenAPI 3.0, whose schemas are not JSON's.
  return (parameters === undefined ? detail : { ...detail, parameters }) as unknown as DocumentDecoration
}
