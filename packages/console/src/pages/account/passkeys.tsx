import type { AnswerOf, Problem, RequestOf, Result } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { hasPasskeys } from '../../api/ways-in.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { PasskeyList } from '../people/passkey-list.tsx'

type Passkey = AnswerOf<'GET', '/v1/auth/passkeys'>['passkeys'][number]

/** One's own passkeys: made on this device, and removed. */
export function Passkeys() {
  const [chosen, setChosen] = useState<Passkey | undefined>(undefined)
  const passkeys = useQuery('/v1/auth/passkeys', {}, { on: ['passkey.*'] })
  const remove = useAction((id: string) => api.delete('/v1/auth/passkeys/{id}', { path: { id } }))
  const run = async (id: string): Promise<void> => {
    if ((await remove.run(id))?.ok !== true) return
    setChosen(undefined)
    toast({ text: t('people.passkey.removed') })
    passkeys.reload()
  }
  return (
    <section class="card" aria-label={t('people.passkeys')}>
      <h2>{t('people.passkeys')}</h2>
      <p>{t('account.passkeys.what')}</p>
      <Loaded query={passkeys}>
        {(known) => <PasskeyList passkeys={known.passkeys} onRemove={setChosen} />}
      </Loaded>
      {hasPasskeys() ? (
        <NewPasskey onMade={passkeys.reload} />
      ) : (
        <Notice tone="warn">{t('account.passkeys.noTls')}</Notice>
      )}
      <ConfirmDialog
        isOpen={chosen !== undefined}
        title={t('account.passkey.remove.title', { name: chosen?.label ?? '' })}
        confirm={t('people.passkey.remove')}
        isDanger
        isBusy={remove.isBusy}
        error={remove.error}
        onConfirm={() => void run(chosen?.id ?? '')}
        onClose={() => setChosen(undefined)}
      >
        <p>{t('account.passkey.remove.what')}</p>
      </ConfirmDialog>
    </section>
  )
}

function NewPasskey({ onMade }: { readonly onMade: () => void }) {
  const [label, setLabel] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [failed, setFailed] = useState<Problem | 'cancelled' | undefined>(undefined)
  const run = async (): Promise<void> => {
    setBusy(true)
    setFailed(undefined)
    const result = await registerPasskey(label)
    setBusy(false)
    if (result === 'cancelled') setFailed(result)
    else if (!result.ok) setFailed(result.error)
    else {
      setLabel('')
      toast({ text: t('account.passkey.made') })
      onMade()
    }
  }
  return (
    <form
      class="toolbar"
      onSubmit={(event) => {
        event.preventDefault()
        void run()
      }}
    >
      <Field
        label={t('account.passkey.label')}
        help={t('account.passkey.label.help')}
        value={label}
        onInput={setLabel}
        maxLength={64}
      />
      <Button type="submit" isBusy={isBusy}>
        {t('account.passkey.make')}
      </Button>
      {failed === undefined ? null : failed === 'cancelled' ? (
        <Notice tone="warn">{t('account.passkey.cancelled')}</Notice>
      ) : (
        <ErrorNotice error={failed} />
      )}
    </form>
  )
}

type Verify = RequestOf<'POST', '/v1/auth/passkey/register/verify'>['body']

/** Makes a passkey on this device for who is signed in. `cancelled`: the person or the device did not. */
async function registerPasskey(label: string): Promise<Result<unknown> | 'cancelled'> {
  const asked = await api.post('/v1/auth/passkey/register/options', { body: {} })
  if (!asked.ok) return asked
  // The service gives them as the browser takes them.
  const options = asked.data.options as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const made = await navigator.credentials.create({ publicKey }).catch(() => null)
  if (!(made instanceof PublicKeyCredential)) return 'cancelled'
  // What a browser makes is what the service takes: it checks it.
  const { id, rawId, type, response } = made.toJSON() as Verify['response']
  const { clientDataJSON, attestationObject, transports } = response
  return await api.post('/v1/auth/passkey/register/verify', {
    body: {
      ...(label === '' ? {} : { label }),
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, attestationObject, ...(transports === undefined ? {} : { transports }) },
      },
    },
  })
}
