import { t } from '../../text/index.ts'
import { Field } from '../../ui/field.tsx'

/** What a person gives once more before their own ways in are changed. */
export interface Proof {
  readonly password: string
  readonly code: string
}

/** Nothing is filled in yet. */
export const NOTHING_PROVEN: Proof = { password: '', code: '' }

/** As the service takes it: apps show a code in two halves. */
export function proofOf({ password, code }: Proof): Proof {
  return { password, code: code.replaceAll(/\s/g, '') }
}

/** Password and code, as a login asks for them. */
export function ProofFields({
  proof,
  onChange,
}: {
  readonly proof: Proof
  readonly onChange: (proof: Proof) => void
}) {
  return (
    <>
      <Field
        label={t('account.password.now')}
        type="password"
        autocomplete="current-password"
        value={proof.password}
        onInput={(password) => onChange({ ...proof, password })}
        isRequired
      />
      <Field
        label={t('signin.code')}
        help={t('signin.code.help')}
        autocomplete="one-time-code"
        value={proof.code}
        onInput={(code) => onChange({ ...proof, code })}
        isRequired
      />
    </>
  )
}
