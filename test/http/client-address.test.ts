/** Whose request it is by address: nobody takes another’s by a header. Rules: keys.md "Client addresses". */

import { expect, test } from 'bun:test'
import type { Server } from 'bun'
import fc from 'fast-check'
import { Client, clientAddress } from '../../src/http/client-address.ts'

const PROXIES = ['10.0.0.0/8', '192.168.1.1', 'fd00::/8']

test('a client that is no trusted proxy is its socket address, whatever it claims', () => {
  for (const claim of [null, '', '1.1.1.1', '10.0.0.1, 1.1.1.1', 'garbage', '::1'])
    expect(clientAddress('203.0.113.7', claim, PROXIES)).toBe('203.0.113.7')
  expect(clientAddress('203.0.113.7', '1.1.1.1', [])).toBe('203.0.113.7')
})

test('behind trusted proxies the first untrusted address from the right is the client', () => {
  expect(clientAddress('10.0.0.1', '198.51.100.4', PROXIES)).toBe('198.51.100.4')
  expect(clientAddress('10.0.0.1', '6.6.6.6, 198.51.100.4', PROXIES)).toBe('198.51.100.4')
  expect(clientAddress('10.0.0.1', '6.6.6.6, 198.51.100.4, 192.168.1.1,10.9.9.9', PROXIES)).toBe('198.51.100.4')
  expect(clientAddress('fd00::1', '198.51.100.4', PROXIES)).toBe('198.51.100.4')
  expect(clientAddress('10.0.0.1', null, PROXIES)).toBe('10.0.0.1')
  expect(clientAddress('10.0.0.1', '10.0.0.2, 10.0.0.3', PROXIES)).toBe('10.0.0.2')
})

test('a malformed entry ends the walk at the last address that can be trusted', () => {
  for (const entry of ['unknown', '1', '0x7f.0.0.1', '999.1.1.1', '', '::zz', '1.2.3', 'localhost'])
    expect(clientAddress('10.0.0.1', `6.6.6.6, ${entry}, 10.0.0.2`, PROXIES)).toBe('10.0.0.2')
})

test('a port is not part of the address', () => {
  expect(clientAddress('10.0.0.1', '198.51.100.4:5123', PROXIES)).toBe('198.51.100.4')
  expect(clientAddress('10.0.0.1', '[2001:db8::1]:443', PROXIES)).toBe('2001:db8::/64')
})

test('an IPv6 client is its /64, so that rotating addresses gains nothing', () => {
  expect(clientAddress('2001:db8:1:2:3:4:5:6', null, [])).toBe('2001:db8:1:2::/64')
  expect(clientAddress('2001:db8:1:2:ffff::1', null, [])).toBe('2001:db8:1:2::/64')
  expect(clientAddress('2001:db8:1:3::1', null, [])).toBe('2001:db8:1:3::/64')
  expect(clientAddress('fe80::1%eth0', null, [])).toBe('fe80::/64')
})

test('an IPv4 address is the same client however the socket spells it, and a proxy is trusted in both spellings', () => {
  expect(clientAddress('::ffff:203.0.113.7', null, [])).toBe('203.0.113.7')
  expect(clientAddress('::ffff:10.0.0.1', '198.51.100.4', PROXIES)).toBe('198.51.100.4')
})

test('no header makes it throw, and an untrusted socket is never talked out of its address', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (claim) => {
      expect(clientAddress('203.0.113.7', claim, PROXIES)).toBe('203.0.113.7')
      expect(clientAddress('10.0.0.1', claim, PROXIES)).not.toBe('')
    }),
  )
  expect(clientAddress('10.0.0.1', Array(1000).fill('10.0.0.2').join(','), PROXIES)).toBe('10.0.0.2')
})

test('a request without a socket has one name of its own', () => {
  expect(clientAddress('', '1.1.1.1', ['0.0.0.0/0', '::/0'])).toBe('unknown')
})

test('a client that was looked at is known when its socket is gone, and one that nobody asks for is not looked at', () => {
  let looks = 0
  let isThere = true
  const requestIP = () => {
    looks++
    return isThere ? { address: '10.0.0.1', family: 'IPv4', port: 1 } : null
  }
  const server = { requestIP } as unknown as Server<unknown>
  const clientOf = () => new Client({ trustedProxies: () => [] }, new Request('http://a/'), server)
  const client = clientOf()
  expect(looks).toBe(0)
  client.look()
  isThere = false
  expect([client.ip, client.ip, looks]).toEqual(['10.0.0.1', '10.0.0.1', 1])
  expect(clientOf().ip).toBe('unknown')
})

test('a client is who its socket says, and behind a trusted proxy who that says', () => {
  const server = { requestIP: () => ({ address: '10.0.0.1', family: 'IPv4', port: 1 }) } as unknown as Server<unknown>
  const request = new Request('http://a/', { headers: { 'x-forwarded-for': '203.0.113.7' } })
  const ipBehind = (...proxies: readonly string[]): string => new Client({ trustedProxies: () => proxies }, request, server).ip
  expect([ipBehind(), ipBehind('10.0.0.0/8')]).toEqual(['10.0.0.1', '203.0.113.7'])
  expect(new Client({ trustedProxies: () => [] }, request, null).ip).toBe('unknown')
})
