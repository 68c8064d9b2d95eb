/** Ids of keys, accounts and credits: a word and a UUIDv7 in hex, so that they sort by time. */

export const newId = (prefix: 'key' | 'acc' | 'crd' | 'boot', now: number): string =>
  `${prefix}_${Bun.randomUUIDv7('hex', now).replaceAll('-', '')}`
