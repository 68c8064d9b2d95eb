/** How far a look over the whole ledger has come. Rules: money.md "Verify". */

/** rules: of the queries, each of which is a rule · chains: of the receipts, in the order in which they were written; `of` is at least how many there are. */
export type VerifyProgress = Readonly<{ step: 'rules' | 'chains'; done: number; of: number }>
export type TellProgress = (progress: VerifyProgress) => void
export const NO_TELL: TellProgress = () => undefined
