/** Whoever reads why an alert was not delivered reads a sentence, whatever the word behind it. Rules: pages.md "Alerts on the page". */

import { expect, test } from 'bun:test'
import { problemWords } from '../../src/web/cabinet/pages/delivery.words.ts'

/** As worker, webhook, connection and mail say them. */
const WORDS = [
  ...['no mail is set up', 'no member of the account', 'webhook removed or switched off'],
  ...['no bot is set up', 'no chat of the account', 'the chat takes no messages of the bot', 'no answer'],
  ...['address', 'dns', 'no public address', 'connect', 'refused', 'timeout', 'tls', 'reset', 'malformed'],
  ...['mail', 'too many', 'etimedout', 'econnection', 'esocket', 'edns', 'etls', 'eauth', 'eenvelope'],
  ...['status 410', 'status 302', 'status 500', 'smtp 550'],
]

test('every word that a delivery fails with has a sentence of its own, and one that is not known stands in one', () => {
  const sentences = WORDS.map(problemWords)
  for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z][^(]+(\((status|SMTP) \d{3}\))?\.$/)
  expect(new Set(sentences).size).toBe(WORDS.length)
  for (const word of ['emfile', 'constructor']) expect(problemWords(word)).toBe(`It could not be delivered (${word}).`)
})
