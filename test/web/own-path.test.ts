/** A sign-in leads back to a page of the cabinet alone, whatever the address says. Rules: pages.md "Ways through". */

import { expect, test } from 'bun:test'
import { ownPath } from '../../src/web/cabinet/own-path.ts'

const ORIGIN = 'https://gate.example'

test('own paths are kept, all else is the first page', () => {
  for (const path of ['/cabinet', '/cabinet/a/acc_1/keys', '/cabinet/key?x=1']) expect(ownPath(path, ORIGIN)).toBe(path)
  for (const path of [
    undefined,
    '',
    '/',
    '/console',
    '/cabinetx',
    '/cabinet/../console',
    '//evil.example/cabinet',
    '/\\evil.example/cabinet',
    'https://evil.example/cabinet',
    'https://gate.example.evil.example/cabinet/a',
    'javascript:alert(1)//cabinet',
    'data:text/html,/cabinet/',
    'http://gate.example/cabinet',
  ])
    expect([path, ownPath(path, ORIGIN)]).toEqual([path, '/cabinet'])
})
