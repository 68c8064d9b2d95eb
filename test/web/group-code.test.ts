/** A code that is typed or pasted into the cabinet gets its groups without getting in the way. Rules: pages.md "Codes". */

import { expect, test } from 'bun:test'
import { makeCode, readCode } from '../../src/core/prepaid-code.ts'
import { groupCode } from '../../src/web/cabinet/group-code.ts'

const typed = (text: string): string => [...text].reduce((before, letter) => groupCode(before, before + letter), '')

test('typed or pasted, with or without prefix and hyphens, it looks as it was printed, and is read as the same code', () => {
  for (let n = 0; n < 50; n++) {
    const code = makeCode(() => crypto.getRandomValues(new Uint8Array(24)))
    const bare = code.replaceAll('-', '')
    for (const text of [code, code.toLowerCase(), bare, code.replaceAll('-', ' ')]) {
      expect(typed(text)).toBe(code)
      expect(groupCode('', text)).toBe(code)
      expect(readCode(typed(text))).toBe(readCode(code) ?? 'none')
    }
    // Its own letters may begin like the prefix, and then group otherwise; it is the same code to who reads it.
    expect(readCode(typed(bare.slice(2)))).toBe(readCode(code) ?? 'none')
  }
})

test('who deletes, or mends the middle, is left alone', () => {
  expect(groupCode('TG-ABCDE-F', 'TG-ABCDE-')).toBe('TG-ABCDE-')
  expect(groupCode('TG-ABCDE-F', 'TG-ABXCDE-F')).toBe('TG-ABXCDE-F')
  expect(groupCode('TG-ABCDE-', 'TG-ABCDE-G')).toBe('TG-ABCDE-G')
})
