/** Ids of keys, accounts and top-ups: a word and a UUIDv7 in hex, so that they sort by time. */

export const newId = (prefix: 'key' | 'acc' | 'top' | 'boot', now: number): string =>
  `${prefix}_${Bun.randomUUIDv7('hex', now).replaceAll('-', '')}`
