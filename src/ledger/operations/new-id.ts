/** Ids of keys, accounts, credits and batches of codes: a word and a UUIDv7 in hex, so that they sort by time. */

export const newId = (prefix: 'key' | 'acc' | 'crd' | 'batch' | 'boot', now: number): string =>
  `${prefix}_${Bun.randomUUIDv7('hex', now).replaceAll('-', '')}`
