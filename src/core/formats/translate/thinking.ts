/**
 * Thinking: translates what a client wishes to what the model accepts, and reads the thinking of earlier answers that the client sends back.
 * Rules: native.md "What models refuse"; translation.md "Thinking".
 */

import type { Model } from '../../catalog.ts'
import { isGiven, isObject } from '../../json.ts'
import type { Block } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

type Display = 'summarized' | 'omitted'

/**
 * effort: the levels of the translated formats · budget: tokens of thinking · adaptive: native, the model decides · off: native `disabled` or
 * `between_tools`. `isExplicit`: the client spelled the native object, so a forced tool choice does not take it back.
 */
export type ThinkingWish = Readonly<
  { display: Display; isExplicit: boolean } & (
    | { kind: 'effort'; effort: Effort }
    | { kind: 'budget'; tokens: number }
    | { kind: 'adaptive' }
    | { kind: 'off'; type: 'disabled' | 'between_tools' }
  )
>

export type NativeThinking = {
  thinking?: { type: 'enabled' | 'adaptive' | 'disabled' | 'between_tools'; budget_tokens?: number; display?: Display }
  output_config?: { effort: string }
}

export type ThinkingContext = Readonly<{
  model: Pick<Model, 'rejects'>
  maxTokens: number
  /** The tool choice is `any` or `tool`. */
  isForced: boolean
  /** See `forbidsManualThinking`. */
  forbidsManual: boolean
}>

const BUDGET_MIN = 1024
/** The share of max_tokens that thinking may use. max_tokens is never raised; the rest is for the answer. */
const BUDGET_SHARE = 0.8
const BUDGETS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 2048,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
  max: 32_000,
}

/** `reasoning_effort`, `reasoning.effort`. Undefined when not given. */
export function readEffort(value: unknown, path: string): Effort | undefined | Refusal {
  if (!isGiven(value)) return undefined
  return EFFORTS.find((effort) => effort === value) ?? invalid(path, `Input should be one of ${EFFORTS.join(', ')}`)
}

/** A native `thinking` object in a translated request. Undefined when not given. */
export function readNativeThinking(value: unknown, path: string): ThinkingWish | undefined | Refusal {
  if (!isGiven(value)) return undefined
  if (!isObject(value)) return invalid(path, 'Input should be a valid object')
  const base = { isExplicit: true, display: value['display'] === 'omitted' ? 'omitted' : 'summarized' } as const
  switch (value['type']) {
    case 'enabled': {
      const tokens = readBudget(value['budget_tokens'], `${path}.budget_tokens`)
      return tokens instanceof Refusal ? tokens : { ...base, kind: 'budget', tokens: tokens ?? BUDGETS.medium }
    }
    case 'adaptive':
      return { ...base, kind: 'adaptive' }
    case 'disabled':
    case 'between_tools':
      return { ...base, kind: 'off', type: value['type'] }
    default:
      return invalid(`${path}.type`, 'Input should be one of enabled, adaptive, disabled, between_tools')
  }
}

/** A budget in tokens; undefined when not given. */
export function readBudget(value: unknown, path: string): number | undefined | Refusal {
  if (!isGiven(value)) return undefined
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : invalid(path, 'Input should be a valid integer')
}

/** The native fields for a wish; empty where there is no wish, or the model cannot fulfil it. */
export function thinkingFor(wish: ThinkingWish | undefined, context: ThinkingContext): NativeThinking {
  if (wish === undefined) return {}
  switch (wish.kind) {
    case 'effort':
      return wish.effort === 'none' ? withoutThinking('disabled', context) : withEffort(wish.effort, wish, context)
    case 'budget':
      return context.model.rejects.has('manual_thinking') ? adaptive(wish, context) : manual(wish.tokens, wish, context)
    case 'adaptive':
      return context.model.rejects.has('adaptive_thinking') ? manual(BUDGETS.medium, wish, context) : adaptive(wish, context)
    case 'off':
      return withoutThinking(wish.type, context)
  }
}

function withEffort(effort: Exclude<Effort, 'none'>, wish: ThinkingWish, context: ThinkingContext): NativeThinking {
  const { rejects } = context.model
  if (rejects.has('adaptive_thinking')) return manual(BUDGETS[effort], wish, context)
  return { ...adaptive(wish, context), ...effortConfig(nativeEffort(effort, rejects), rejects) }
}

/** Switches thinking off in the first way that the model accepts. A model that always thinks is asked to think little; a model that thinks only when asked gets no field. */
function withoutThinking(type: 'disabled' | 'between_tools', { model: { rejects } }: ThinkingContext): NativeThinking {
  if (rejects.has('adaptive_thinking')) return {}
  const ways = type === 'disabled' ? (['disabled', 'between_tools'] as const) : (['between_tools', 'disabled'] as const)
  const way = ways.find((candidate) => !rejects.has(`${candidate}_thinking`))
  return way === undefined ? effortConfig('low', rejects) : { thinking: { type: way } }
}

const adaptive = ({ display }: ThinkingWish, { model }: ThinkingContext): NativeThinking =>
  model.rejects.has('adaptive_thinking') ? {} : { thinking: { type: 'adaptive', display } }

function manual(tokens: number, wish: ThinkingWish, context: ThinkingContext): NativeThinking {
  const budget = Math.min(tokens, Math.floor(context.maxTokens * BUDGET_SHARE))
  const isTakenBack = context.forbidsManual || (context.isForced && !wish.isExplicit)
  if (context.model.rejects.has('manual_thinking') || isTakenBack || budget < BUDGET_MIN) return {}
  return { thinking: { type: 'enabled', budget_tokens: budget, ...(wish.display === 'omitted' ? { display: wish.display } : {}) } }
}

const effortConfig = (effort: string, rejects: Model['rejects']): NativeThinking =>
  rejects.has('effort') ? {} : { output_config: { effort } }

function nativeEffort(effort: Exclude<Effort, 'none'>, rejects: Model['rejects']): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && rejects.has('xhigh_effort') ? 'max' : effort
}

/** Signed thinking blocks as native wants them back; a block without a signature cannot be sent back and is left out. */
export function thinkingBlocks(values: unknown): Block[] {
  if (!Array.isArray(values)) return []
  return values.filter(isObject).flatMap((value): Block[] => {
    const { type, thinking, signature, data } = value
    if (type === 'thinking' && typeof thinking === 'string' && typeof signature === 'string' && signature !== '')
      return [{ type, thinking, signature }]
    return type === 'redacted_thinking' && typeof data === 'string' && data !== '' ? [{ type, data }] : []
  })
}
