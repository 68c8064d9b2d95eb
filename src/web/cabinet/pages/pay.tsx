/** The two ways to pay on the page: a code is redeemed at once, a payment is made on Stripe's own page. Rules: pages.md "Top up". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask } from '../../parts/ask.ts'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { showUsd, usdNumber } from '../../parts/show-usd.ts'
import { Usd } from '../../parts/usd.tsx'
import { api } from '../api.ts'
import { groupCode } from '../group-code.ts'
import { WORDS } from './top-up.words.ts'

type Redeemed = Readonly<{ amount: string; already: boolean; before: string | undefined }>

/** `balance`: the balance as it is known now. `credited`: called after a credit, so that the balance is asked for again. */
export const RedeemCode = ({
  accountId,
  balance,
  credited,
}: Readonly<{ accountId: string; balance: string | undefined; credited: () => void }>) => {
  const [code, setCode] = useState('')
  const [redeemed, setRedeemed] = useState<Redeemed>()
  const act = useAct()
  const submit = (): void => {
    setRedeemed(undefined)
    act.run(
      () => ask(api.accounts({ accountId }).codes.redeem.post({ code })),
      ({ amount_usd, already }) => {
        setRedeemed({ amount: amount_usd, already, before: balance })
        setCode('')
        credited()
      },
    )
  }
  return (
    <Form act={act} isCard fields={['code']} button={WORDS.codeButton} submit={submit}>
      <h2>{WORDS.code}</h2>
      <Field
        label="Code"
        hint={WORDS.codeHint}
        required
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        value={code}
        change={(typed) => setCode(groupCode(code, typed))}
        error={act.errorOf('code')}
      />
      <div role="status">{redeemed !== undefined && <Credited redeemed={redeemed} balance={balance} />}</div>
    </Form>
  )
}

const Credited = ({ redeemed, balance }: Readonly<{ redeemed: Redeemed; balance: string | undefined }>) =>
  redeemed.already ? (
    <p class="note">This account redeemed that code before: nothing was credited now.</p>
  ) : (
    <p class="note">
      <Usd exact={redeemed.amount} /> credited.
      {redeemed.before !== undefined && balance !== undefined && redeemed.before !== balance && (
        <>
          {' '}
          The balance was <Usd exact={redeemed.before} places={2} /> and is <Usd exact={balance} places={2} />.
        </>
      )}
    </p>
  )

const PRESETS = ['10', '25', '50', '100', '250']

export const PayByCard = ({
  accountId,
  bounds: { min_usd, max_usd },
}: Readonly<{ accountId: string; bounds: Readonly<{ min_usd: string; max_usd: string }> }>) => {
  const [amount, setAmount] = useState('')
  const act = useAct()
  const presets = PRESETS.filter((preset) => usdNumber(preset) >= usdNumber(min_usd) && usdNumber(preset) <= usdNumber(max_usd))
  const submit = (): void =>
    act.run(
      () => ask(api.accounts({ accountId }).checkout.post({ amount_usd: amount.trim().replace(/^\$/, '') })),
      ({ url }) => location.assign(url),
    )
  return (
    <Form act={act} isCard fields={['amount_usd']} button="Go to Stripe" submit={submit}>
      <h2>{WORDS.pay}</h2>
      <UsdField
        act={act}
        field="amount_usd"
        label="Amount in USD"
        hint={WORDS.amountHint(showUsd(min_usd, 2), showUsd(max_usd, 2))}
        required
        maxLength={20}
        value={amount}
        change={setAmount}
      />
      <div class="acts">
        {presets.map((preset) => (
          <button key={preset} type="button" class="small" aria-pressed={amount === preset} onClick={() => setAmount(preset)}>
            ${preset}
          </button>
        ))}
      </div>
    </Form>
  )
}
