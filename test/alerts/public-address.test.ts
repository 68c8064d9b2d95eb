/** No spelling of a private address, and no name that leads to one, is an address of a webhook. Rules: pages.md "Webhooks". */

import { expect, test } from 'bun:test'
import { isPublicAddress } from '../../src/alerts/public-address.ts'
import { readWebhookUrl } from '../../src/alerts/webhook-url.ts'

const NOT_PUBLIC = [
  ...[
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
  ],
  ...['168.63.129.16', '169.254.0.1', '169.254.169.254', '169.254.170.2', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.192'],
  ...['192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.168.0.1', '192.175.48.1', '198.18.0.1', '198.19.255.255'],
  ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  ...[
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '0:0:0:0:0:ffff:c0a8:1',
    '::ffff:0:127.0.0.1',
  ],
  ...[
    '64:ff9b::7f00:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::8.8.8.8',
    '100::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  ],
  ...[
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '2002:a00:1::',
    '2002:808:808::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
  ],
  ...['fc00::1', 'fd00:ec2::254', 'fd12:3456::1', 'fe80::1', 'fec0::1', 'ff02::1', 'ff0e::1'],
  ...['', 'localhost', '1.2.3', '01.2.3.4', '0x7f.0.0.1', '2130706433', 'fe80::1%eth0', '8.8.8.8 ', '8.8.8.8/32'],
]
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '2606:4700::1111',
  '2a00:1450::8',
  '64:ff9b::808:808',
  '::ffff:8.8.8.8',
]

test('every address that is special is refused, every other is let through', () => {
  expect(NOT_PUBLIC.length).toBeGreaterThan(60)
  expect(NOT_PUBLIC.filter((address) => isPublicAddress(address))).toEqual([])
  expect(PUBLIC.filter((address) => !isPublicAddress(address))).toEqual([])
})

test('an address of this machine is refused however public it is, also in other forms', () => {
  const own = new Set(['8.8.8.8', '2606:4700::1111'])
  for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2606:4700:0:0::1111']) {
    expect(isPublicAddress(address)).toBe(true)
    expect(isPublicAddress(address, own), address).toBe(false)
  }
})

test('hosts in other spellings are read as addresses before they are judged', () => {
  const hidden = [
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '1２7.0.0.1',
    '0',
  ]
  const v6 = [
    '[::1]',
    '[::ffff:7f00:1]',
    '[::ffff:169.254.169.254]',
    '[0:0:0:0:0:0:0:1]',
    '[fe80::1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::]',
  ]
  for (const host of [...hidden, ...v6, '169.254.169.254:80', '10.0.0.1:65535'])
    expect(readWebhookUrl(`https://${host}/x`, false), host).toBe('The address must be a public one')
  for (const host of hidden) expect(readWebhookUrl(`https://${host}/x`, true), host).toMatchObject({ isAddress: true })
})

test('only https, without user and password, with a name or an address, and so long at most', () => {
  const wrong: Readonly<Record<string, RegExp>> = {
    'http://example.com/': /https/,
    'ftp://example.com/': /https/,
    'file:///etc/passwd': /https/,
    'javascript:alert(1)': /https/,
    'https://user@example.com/': /password/,
    'https://user:secret@example.com/': /password/,
    'https://8.8.8.8@10.0.0.1/': /password/,
    'https://:x@example.com/': /password/,
    'https://[fe80::1%25eth0]/': /Expected/,
    'https://': /Expected/,
    'https://example.com:0/': /port/,
    'https://example.com:65536/': /Expected/,
    'https://./': /name|Expected/,
    'https://a..b/': /name|Expected/,
    'https://exa mple.com/': /Expected/,
    'example.com/hook': /Expected/,
    '//example.com/': /Expected/,
    '': /Expected/,
    [`https://example.com/${'a'.repeat(2_000)}`]: /2000/,
  }
  for (const [text, problem] of Object.entries(wrong)) expect(readWebhookUrl(text, false), text).toMatch(problem)
  expect(readWebhookUrl('http://10.0.0.1:8080/hook', true)).toMatchObject({ host: '10.0.0.1', port: 8_080, isSecure: false })
})

test('a name is asked for as it will be resolved: lower case, without its last dot, international ones in ASCII', () => {
  const target = (text: string) => readWebhookUrl(text, false)
  expect(target('https://EXAMPLE.com./a b?c=d#e')).toEqual({
    host: 'example.com',
    isAddress: false,
    port: 443,
    isSecure: true,
    path: '/a%20b?c=d',
    authority: 'example.com',
  })
  expect(target('https://bücher.example:8443')).toMatchObject({
    host: 'xn--bcher-kva.example',
    authority: 'xn--bcher-kva.example:8443',
    path: '/',
  })
  expect(target('https://[2606:4700::1111]:444/')).toMatchObject({
    host: '2606:4700::1111',
    isAddress: true,
    authority: '[2606:4700::1111]:444',
  })
  expect(target('https://example.com.:444/')).toMatchObject({ host: 'example.com', authority: 'example.com:444' })
})
