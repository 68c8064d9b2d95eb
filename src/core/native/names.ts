/** Names of tools and ids of calls, which native takes under one rule. Rules: native.md "What native refuses"; translation.md "Call ids". */

export const NAME = /^[A-Za-z0-9_-]{1,128}$/
export const NAME_LENGTH_MAX = 128

/** The name itself where native takes it; else cut, and each character that native refuses is `_`. */
export const cleanName = (name: string): string => (NAME.test(name) ? name : name.slice(0, NAME_LENGTH_MAX).replace(/[^A-Za-z0-9_-]/g, '_'))
