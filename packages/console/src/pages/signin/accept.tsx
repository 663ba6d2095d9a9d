import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Notice } from '../../ui/notice.tsx'
import { LEAST_CHARACTERS } from '../account/account.tsx'
import { type Drawn, DrawnCredentials } from '../people/shown-once.tsx'

/** An invitation: who has its link chooses a password, and alone sees authenticator and recovery codes. */
export function Accept() {
  const [token, setToken] = useState(tokenInAddress)
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [drawn, setDrawn] = useState<Drawn | undefined>(undefined)
  useEffect(() => {
    // A link that is opened where this page is open changes what is behind # and loads nothing.
    const take = (): void => setToken((before) => tokenInAddress() ?? before)
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  if (token === undefined) return <Notice tone="warn">{t('signin.accept.none')}</Notice>
  if (drawn !== undefined) return <DrawnCredentials drawn={drawn} onClose={() => navigate('/')} />
  const isOther = again !== '' && again !== password
  return (
    <Form
      submit={t('signin.accept.go')}
      kind="primary"
      act={async () =>
        again === password ? await api.post('/v1/auth/invitation', { body: { token, password } }) : undefined
      }
      onDone={setDrawn}
    >
      <Field
        label={t('account.password.new')}
        help={t('signin.accept.help', { count: LEAST_CHARACTERS })}
        type="password"
        autocomplete="new-password"
        value={password}
        onInput={setPassword}
        minLength={LEAST_CHARACTERS}
        isRequired
      />
      <Field
        label={t('account.password.again')}
        error={isOther ? t('account.password.other') : undefined}
        type="password"
        autocomplete="new-password"
        value={again}
        onInput={setAgain}
        isRequired
      />
    </Form>
  )
}

/** The token stands behind # alone: browsers send that to nobody, and it is taken out of the address at once. */
function tokenInAddress(): string | undefined {
  const token = /^#(svci_\S+)$/.exec(location.hash)?.[1]
  if (token !== undefined) history.replaceState(null, '', location.pathname)
  return token
}
