/** Why an alert was not delivered, for the person who set the receiver: the fixed words of the delivery worker, the webhook's connection and the mail as sentences. Rules: pages.md "Alerts on the page". */

const SENTENCES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // Faults before anything was sent.
    'no mail is set up': 'This gateway sends no mail.',
    'no member of the account': 'Its receiver is no member of this account any more.',
    'webhook removed or switched off': 'The webhook was removed or disabled.',
    address: 'The webhook’s address is not allowed here.',
    dns: 'The name of its server was not found.',
    'no public address': 'The name of its server has no public address, or was not found.',
    // Faults of a chat in Telegram.
    'no bot is set up': 'This gateway has no bot in Telegram.',
    'no chat of the account': 'The chat was removed, or wants no alerts any more.',
    'the chat takes no messages of the bot': 'The chat has blocked the bot.',
    'no answer': 'Telegram did not answer.',
    // Faults of the connection and the answer.
    connect: 'Its server could not be reached.',
    refused: 'Its server refused the connection.',
    timeout: 'Its server did not answer in time.',
    tls: 'The certificate of its server is not valid for its name.',
    reset: 'Its server closed the connection before it answered.',
    malformed: 'Its server answered, but not in HTTP.',
    'status 410': 'The webhook says that it is gone for ever (status 410).',
    // Faults of a mail, as its server or the library says.
    mail: 'The mail could not be sent.',
    'too many': 'Too many mails waited already.',
    etimedout: 'The mail server did not answer in time.',
    econnection: 'The mail server could not be reached.',
    esocket: 'The connection to the mail server broke.',
    edns: 'The mail server was not found.',
    etls: 'No safe connection to the mail server came about.',
    eauth: 'The mail server did not let this gateway in.',
    eenvelope: 'The mail server did not take the address.',
  }),
)

/** A short sentence, also for a word that is not known here. */
export function problemWords(problem: string): string {
  const sentence = SENTENCES.get(problem)
  if (sentence !== undefined) return sentence
  const [, channel, status] = /^(status|smtp) (\d{3})$/.exec(problem) ?? []
  if (channel === 'status')
    return /^3/.test(status ?? '')
      ? `The webhook sends on to another address, which is not followed (status ${status}).`
      : `The webhook answered with status ${status}.`
  return channel === 'smtp' ? `The mail server did not take it (SMTP ${status}).` : `It could not be delivered (${problem}).`
}
