import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { NOTHING_PROVEN, ProofFields, proofOf } from './proof-fields.tsx'

const EMPTY = { ...NOTHING_PROVEN, new_password: '', again: '' }
/** As the service has it. */
const LEAST_CHARACTERS = 12

/** Changes the own password: with the one before and a code, as a login does. */
export function PasswordForm() {
  const [typed, setTyped] = useState(EMPTY)
  const set = (name: keyof typeof EMPTY) => (value: string) => setTyped({ ...typed, [name]: value })
  const change = useAction(({ new_password, ...proof }: typeof EMPTY) =>
    api.post('/v1/auth/password', { body: { ...proofOf(proof), new_password } }),
  )
  const isOther = typed.again !== '' && typed.again !== typed.new_password
  const run = async (): Promise<void> => {
    if (typed.again !== typed.new_password || (await change.run(typed))?.ok !== true) return
    setTyped(EMPTY)
    toast({ text: t('account.password.done') })
  }
  return (
    <section class="card" aria-label={t('account.password')}>
      <h2>{t('account.password')}</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <ProofFields proof={typed} onChange={(proof) => setTyped({ ...typed, ...proof })} />
        <Field
          label={t('account.password.new')}
          help={t('account.password.help', { count: LEAST_CHARACTERS })}
          type="password"
          autocomplete="new-password"
          minLength={LEAST_CHARACTERS}
          value={typed.new_password}
          onInput={set('new_password')}
          isRequired
        />
        <Field
          label={t('account.password.again')}
          error={isOther ? t('account.password.other') : undefined}
          type="password"
          autocomplete="new-password"
          value={typed.again}
          onInput={set('again')}
          isRequired
        />
        {change.error === undefined ? null : <ErrorNotice error={change.error} />}
        <Button type="submit" isBusy={change.isBusy}>
          {t('account.password')}
        </Button>
      </form>
    </section>
  )
}
