import type { Problem } from '@steeple/client'
import { useState } from 'preact/hooks'
import { enterWithToken } from '../../api/session.ts'
import { byPasskey, byPassword, hasPasskeys, linkProblem } from '../../api/ways-in.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'

/** All ways in: name, password and code; a passkey; a token. */
export function SignIn() {
  const [isByToken, setByToken] = useState(false)
  const link = linkProblem.value
  return (
    <>
      <ErrorNotice error={link} />
      {isByToken ? <ByToken onBack={() => setByToken(false)} /> : <ByName onToken={() => setByToken(true)} />}
    </>
  )
}

function ByName({ onToken }: { readonly onToken: () => void }) {
  const [username, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { isCancelled, attempt, ...state } = useAttempt()
  return (
    <Form
      {...state}
      submit={t('signin.go')}
      kind="primary"
      busy={t('signin.busy')}
      act={() => attempt(() => withCode({ username, password, code }))}
      beside={
        <>
          {hasPasskeys() ? (
            <Button onClick={() => void attempt(byPasskey)} isBusy={state.isBusy}>
              {t('signin.passkey')}
            </Button>
          ) : null}
          <Button kind="quiet" onClick={onToken}>
            {t('signin.token')}
          </Button>
        </>
      }
    >
      <Field
        text="signin.name"
        value={username}
        onInput={setName}
        autocomplete="username"
        isRequired
        isFocused
      />
      <Field
        text="signin.password"
        value={password}
        onInput={setPassword}
        type="password"
        autocomplete="current-password"
        isRequired
      />
      <Field text="signin.code" value={code} onInput={setCode} autocomplete="one-time-code" isRequired />
      {isCancelled ? <Notice tone="warn">{t('signin.passkey.cancelled')}</Notice> : null}
    </Form>
  )
}

function ByToken({ onBack }: { readonly onBack: () => void }) {
  const [token, setToken] = useState('')
  const { error, isBusy, attempt } = useAttempt()
  return (
    <Form
      submit={t('signin.go')}
      kind="primary"
      error={error}
      isBusy={isBusy}
      act={() => attempt(() => enterWithToken(token))}
      beside={
        <Button kind="quiet" onClick={onBack}>
          {t('signin.people')}
        </Button>
      }
    >
      <Field
        label={t('signin.token.label')}
        help={t('signin.token.help')}
        value={token}
        onInput={setToken}
        type="password"
        isRequired
        isFocused
      />
    </Form>
  )
}

/** With a code as the app shows it, in groups. */
export function withCode(typed: Parameters<typeof byPassword>[0]): ReturnType<typeof byPassword> {
  return byPassword({ ...typed, code: typed.code.replaceAll(/\s/g, '') })
}

/** One try at a time; `cancelled` is a person's own will. */
export function useAttempt() {
  const [error, setError] = useState<Problem>()
  const [isCancelled, setCancelled] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const attempt = async (way: () => Promise<Problem | 'cancelled' | undefined>): Promise<undefined> => {
    setBusy(true)
    setError(undefined)
    setCancelled(false)
    const failed = await way()
    setBusy(false)
    if (failed === 'cancelled') setCancelled(true)
    else setError(failed)
  }
  return { error, isBusy, isCancelled, attempt }
}
