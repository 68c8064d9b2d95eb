/** What a model takes and what not, in words. Rules: requests.md "Models"; native.md "What models refuse". */

const REJECTIONS: Readonly<Record<string, string>> = {
  sampling: 'temperature',
  tools: 'tools',
  tool_choice: 'a choice of tools',
  forced_tool_choice: 'a forced tool',
  manual_thinking: 'thinking budgets',
  adaptive_thinking: 'adaptive thinking',
  disabled_thinking: 'thinking switched off',
  between_tools_thinking: 'thinking between tools',
  effort: 'effort',
  xhigh_effort: 'effort “xhigh”',
  assistant_first: 'an assistant’s turn first',
  images: 'images',
  documents: 'documents',
  system: 'system prompts',
  parallel_tools: 'a choice of parallel tools',
  betas: 'betas',
  versions: 'other API versions',
}

export const rejectionWords = (name: string): string => REJECTIONS[name] ?? name

/** What people choose a model by. */
const CHOSEN_BY = ['tools', 'images', 'documents', 'effort'] as const
const THINKING = ['manual_thinking', 'adaptive_thinking'] as const

/** `takes`: "tools, images, thinking"; `refuses`: everything that the file lists. */
export function capabilityWords(rejects: readonly string[]): Readonly<{ takes: string; refuses: string }> {
  const thinks = THINKING.some((name) => !rejects.includes(name))
  const takes = [...CHOSEN_BY.filter((name) => !rejects.includes(name)).map(rejectionWords), ...(thinks ? ['thinking'] : [])]
  return { takes: takes.join(', '), refuses: rejects.map(rejectionWords).join(', ') }
}
