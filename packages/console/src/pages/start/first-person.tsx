import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { Step } from './step.tsx'

/** The first person with an account of their own: invited by a link that they open on their phone. */
export function FirstPerson() {
  const people = useQuery('/v1/users', { query: { limit: 1 } }, { on: ['user.*'] })
  const [name, setName] = useState('')
  const [link, setLink] = useState<string | undefined>(undefined)
  const invite = useAction(() => api.post('/v1/users/invitations', { body: { name, roles: ['admin'] } }))
  const submit = async (): Promise<void> => {
    const result = await invite.run()
    if (result?.ok === true) setLink(`${location.origin}/v1/auth/invitation#${result.data.token}`)
  }
  return (
    <Step title={t('start.person')} isDone={(people.data?.users.length ?? 0) > 0}>
      <p>{t('start.person.about')}</p>
      {link === undefined ? (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault()
            void submit()
          }}
        >
          <Field label={t('start.person.name')} value={name} onInput={setName} maxLength={64} isRequired />
          {invite.error === undefined ? null : <ErrorNotice error={invite.error} />}
          <div>
            <Button type="submit" isBusy={invite.isBusy}>
              {t('start.person.invite')}
            </Button>
          </div>
        </form>
      ) : (
        <Notice tone="ok">
          <p>{t('start.person.link', { name })}</p>
          <QrCode text={link} what={t('start.person.qr')} />
          <p>
            <Copy text={link} label={t('start.person.copy')} />
          </p>
        </Notice>
      )}
    </Step>
  )
}
