/** Lists a page at a time. What each holds stands in the test of its command. Rules: operator.md "Lists". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

/** Each with a cursor that is one of another list. */
const LISTS: Readonly<Record<string, string>> = {
  'keys list': 'acc_1',
  'accounts list': 'key_1',
  'codes list': 'crd_1',
  'holds list': '7',
  'top-ups list': 'req_1',
  'audit list': 'req_1',
  'attempts list': 'req_1',
  'receipts list': 'req_1:1',
  usage: '7',
}

test.each(Object.entries(LISTS))(
  '%s refuses a cursor that is none of its own, and does not begin from the start',
  async (list, foreign) => {
    for (const cursor of [foreign, 'nonsense', ''])
      expect(await place.run(...list.split(' '), '--cursor', cursor)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining('Expected the next_cursor of a page of this list.'),
      })
  },
)
