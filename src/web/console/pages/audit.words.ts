/** The acts of the audit log, in words. Rules: operator.md "Audit". */

import { showMoment } from '../../parts/show-time.ts'

export const ACTIONS: Readonly<Record<string, string>> = {
  createAccount: 'account made',
  credit: 'balance credited',
  setAccountActive: 'account switched',
  renameAccount: 'account renamed',
  createKey: 'key made',
  renameKey: 'key renamed',
  setKeyActive: 'key switched',
  setKeyLimit: 'limit set',
  setKeyExpiry: 'expiry set',
  rotateKey: 'new secret',
  createCodes: 'codes made',
  disableCodes: 'codes taken back',
  setUpstreamOut: 'upstream switched',
  setAccess: 'access changed',
  giveLink: 'link given',
  failover: 'Postgres failed over',
}

/** A fact as it stands in the log; times as moments. */
export function factText(name: string, value: unknown): string {
  if (typeof value === 'number' && /(At|Until)$/.test(name)) return showMoment(new Date(value).toISOString())
  if (value === null || value === undefined || value === '') return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
