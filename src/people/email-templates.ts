/** Mails about signing in. They contain no text that a person typed, except the receiver's own address. Rules: pages.md "Links", "Mail". */

export type Email = Readonly<{ subject: string; text: string }>

const IGNORE = 'If you did not ask for this, do nothing: the link works for you alone.'

export const invitationMail = (link: string): Email => ({
  subject: 'You are invited to Tollgate',
  text: `By this link you come in. It works once, within 72 hours.\n\n${link}\n\nIf you do not know who may have invited you, do nothing.\n`,
})

export const resetMail = (link: string): Email => ({
  subject: 'A new password for Tollgate',
  text: `By this link you set a new password. It works once, within the hour.\n\n${link}\n\n${IGNORE}\n`,
})

export const signInMail = (link: string): Email => ({
  subject: 'Sign in to Tollgate',
  text: `This link signs you in. It works once, within the hour.\n\n${link}\n\n${IGNORE}\n`,
})

export const signUpMail = (link: string): Email => ({
  subject: 'Your account at Tollgate',
  text: `By this link you choose a password and your account is made. It works once, within 72 hours.\n\n${link}\n\n${IGNORE}\n`,
})

/** The mail to a person who has an account and signs up again. */
export const knownMail = (base: string): Email => ({
  subject: 'You have an account at Tollgate',
  text: `A new account was asked for with this address, which has one. Sign in at ${base}/cabinet, where you can also ask for a new password.\n`,
})
