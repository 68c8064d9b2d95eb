/** Temperature, top_p and top_k towards native. Rules: native.md "What native refuses"; translation.md "Sampling". */

import type { Model } from '../../catalog.ts'

export type Sampling = Readonly<{ temperature: number | undefined; topP: number | undefined; topK: number | undefined }>

export type NativeSampling = { temperature?: number; top_p?: number; top_k?: number }

/** Nothing for a model that rejects sampling and while it thinks. Several models refuse temperature beside top_p: the one that says less goes. */
export function samplingFor(wish: Sampling, model: Pick<Model, 'rejects'>, isThinking: boolean): NativeSampling {
  if (model.rejects.has('sampling') || isThinking) return {}
  const temperature = wish.temperature === undefined ? undefined : Math.min(1, wish.temperature)
  const hasBoth = temperature !== undefined && wish.topP !== undefined
  const keepsTopP = !hasBoth || (temperature === 1 && wish.topP < 1)
  return {
    ...(temperature === undefined || (hasBoth && keepsTopP) ? {} : { temperature }),
    ...(wish.topP === undefined || !keepsTopP ? {} : { top_p: wish.topP }),
    ...(wish.topK === undefined ? {} : { top_k: wish.topK }),
  }
}
