/** An answer by another model than was asked for is known, and a snapshot or a cloud's spelling of it is none. Rules: native.md "Other servers". */

import { expect, test } from 'bun:test'
import { isSameModel } from '../../../src/core/native/model-echo.ts'

test('a snapshot and the spellings of the clouds are the same model', () => {
  for (const [asked, named] of [
    ['claude-sonnet-5-5', 'claude-sonnet-5-5'],
    ['claude-sonnet-5-5', 'claude-sonnet-5-5-20260928'],
    ['claude-sonnet-5-5-20260928', 'claude-sonnet-5-5'],
    ['claude-haiku-4-5@20251001', 'claude-haiku-4-5-20251001'],
    ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5-20251001'],
    ['anthropic.claude-opus-5', 'claude-opus-5'],
    ['claude-haiku-4-5-latest', 'Claude-Haiku-4-5-20251001'],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/x', 'claude-opus-5'],
  ] as const)
    expect([asked, named, isSameModel(asked, named)]).toEqual([asked, named, true])
})

test('another model is another one', () => {
  for (const [asked, named] of [
    ['claude-opus-5', 'claude-opus-5-5'],
    ['claude-opus-5', 'deepseek-chat'],
    ['claude-opus-5', 'claude-haiku-4-5-20251001'],
    ['claude-opus-5', 'tiny.gguf'],
    ['-20260928', 'claude-opus-5'],
  ] as const)
    expect([asked, named, isSameModel(asked, named)]).toEqual([asked, named, false])
})

test('an answer that names no model has named no other', () => {
  for (const named of [undefined, null, '', 7, {}]) expect(isSameModel('claude-opus-5', named)).toBe(true)
})
