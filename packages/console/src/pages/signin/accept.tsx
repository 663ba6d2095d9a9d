import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { signedIn } from '../../api/session.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Notice } from '../../ui/notice.tsx'
import { LEAST_CHARACTERS } from '../account/account.tsx'
import { type Drawn, DrawnCredentials } from '../people/shown-once.tsx'
import { useAttempt, withCode } from './sign-in.tsx'

/** In this tab: whose invitation was accepted here. What it showed is gone with a reload, and its link is used up. */
const ACCEPTED = 'steeple.accepted'

/** An invitation: who has its link chooses a password, and alone sees authenticator and recovery codes. */
export function Accept() {
  const [token, setToken] = useState(tokenInAddress)
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [drawn, setDrawn] = useState<Drawn>()
  useEffect(() => {
    // A link that is opened where this page is open changes what is behind # and loads nothing.
    const take = (): void => setToken((before) => tokenInAddress() ?? before)
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  if (token === undefined) return <NoToken />
  if (drawn !== undefined)
    return (
      <DrawnCredentials
        drawn={drawn}
        onClose={() => navigate('/')}
        {...(signedIn.value === 'in'
          ? {}
          : { end: <FirstSignIn name={drawn.name ?? ''} password={password} /> })}
      />
    )
  const isOther = again !== '' && again !== password
  return (
    <Form
      submit={t('signin.accept.go')}
      busy={t('signin.busy')}
      kind="primary"
      act={async () =>
        again === password ? await api.post('/v1/auth/invitation', { body: { token, password } }) : undefined
      }
      onDone={(made) => {
        sessionStorage.setItem(ACCEPTED, made.name)
        setDrawn(made)
      }}
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
        text="account.password.again"
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

/** Nothing to accept: the link has lost its end, or is used up. */
function NoToken() {
  const name = sessionStorage.getItem(ACCEPTED)
  if (name === null) return <Notice tone="warn">{t('signin.accept.none')}</Notice>
  return (
    <>
      <Notice tone="warn">{t('signin.accept.used', { name })}</Notice>
      <ButtonLink href="/">{t('signin.go')}</ButtonLink>
    </>
  )
}

/** Signs in with one code of the app: whoever leaves without it may find out too late that it was never set up. */
function FirstSignIn({ name, password }: { readonly name: string; readonly password: string }) {
  const [code, setCode] = useState('')
  const { attempt, error, isBusy } = useAttempt()
  const enter = async () => {
    const failed = await withCode({ username: name, password, code })
    if (failed === undefined) {
      sessionStorage.removeItem(ACCEPTED)
      navigate('/')
    }
    return failed
  }
  return (
    <Form
      submit={t('signin.go')}
      busy={t('signin.busy')}
      kind="primary"
      error={error}
      isBusy={isBusy}
      act={() => attempt(enter)}
    >
      <Field
        text="signin.accept.code"
        value={code}
        onInput={setCode}
        autocomplete="one-time-code"
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
