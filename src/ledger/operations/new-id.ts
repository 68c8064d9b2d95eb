/** Ids of keys, accounts, credits, batches of codes and tokens: a word and a UUIDv7 in hex, so that they sort by time. */

export const newId = (prefix: 'key' | 'acc' | 'crd' | 'batch' | 'tok' | 'boot', now: number): string =>
  `${prefix}_${Bun.randomUUIDv7('hex', now).replaceAll('-', '')}`
