import type { AnswerOf, RequestOf, Result } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { me } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { hasPasskeys } from '../../api/ways-in.ts'
import { chooseLanguage, chosenLanguage, LANGUAGES, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Select, useTyped } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Loaded, Notice } from '../../ui/notice.tsx'
import { Card, Facts } from '../../ui/parts.tsx'
import { PasskeyList } from '../people/passkey-list.tsx'
import { FEW_CODES, rolesText } from '../people/roles.tsx'
import { Sessions } from '../people/sessions.tsx'
import { RecoveryCodes, ShownOnce } from '../people/shown-once.tsx'

/** What a person gives once more before their own ways in are changed. */
interface Proof {
  readonly password: string
  readonly code: string
}

/** Nothing is filled in yet. */
const NOTHING_PROVEN: Proof = { password: '', code: '' }

/** As the service takes it: apps show a code in two halves. */
function proofOf({ password, code }: Proof): Proof {
  return { password, code: code.replaceAll(/\s/g, '') }
}

/** Password and code, as a login asks for them. */
function ProofFields({ of }: Pick<ReturnType<typeof useTyped<Proof>>, 'of'>) {
  return (
    <>
      <Field
        {...of('password')}
        text="account.password.now"
        type="password"
        autocomplete="current-password"
        isRequired
      />
      <Field {...of('code')} text="signin.code" autocomplete="one-time-code" isRequired />
    </>
  )
}

/** Who may not read the audit trail is told of no login. */
const LOOK_MS = 30_000

/** One's own recovery codes: how many are left, and others in their place. */
function OwnRecovery() {
  const [isAsked, setAsked] = useState(false)
  const [drawn, setDrawn] = useState<readonly string[]>()
  const codes = useQuery('/v1/auth/recovery-codes', {}, { on: ['auth.login', 'user.*'], everyMs: LOOK_MS })
  return (
    <Card title={t('people.recovery')}>
      <p>{t('account.recovery')}</p>
      <Loaded query={codes}>
        {({ left }) =>
          left === null ? null : left < FEW_CODES ? (
            <Notice tone="warn">{t('account.recovery.left', { count: left })}</Notice>
          ) : (
            <p>{t('account.recovery.left', { count: left })}</p>
          )
        }
      </Loaded>
      <div class="actions">
        <Button onClick={() => setAsked(true)}>{t('account.recovery.new')}</Button>
      </div>
      <p>{t('account.recovery.box')}</p>
      <p>
        <code>svc user reset NAME --offline</code>
      </p>
      {isAsked ? (
        <NewCodes
          onDrawn={(made) => {
            setAsked(false)
            setDrawn(made)
            codes.reload()
          }}
          onClose={() => setAsked(false)}
        />
      ) : null}
      {drawn === undefined ? null : (
        <ShownOnce title={t('account.recovery.drawn')} onClose={() => setDrawn(undefined)}>
          <RecoveryCodes codes={drawn} />
        </ShownOnce>
      )}
    </Card>
  )
}

function NewCodes({
  onDrawn,
  onClose,
}: {
  readonly onDrawn: (codes: readonly string[]) => void
  readonly onClose: () => void
}) {
  const { typed, of } = useTyped(NOTHING_PROVEN)
  return (
    <FormDialog
      text="account.recovery.new"
      act={() => api.post('/v1/auth/recovery-codes', { body: proofOf(typed) })}
      onDone={({ recovery_codes: codes }) => onDrawn(codes)}
      onClose={onClose}
    >
      <ProofFields of={of} />
    </FormDialog>
  )
}

const EMPTY = { ...NOTHING_PROVEN, new_password: '', again: '' }
/** As the service has it. */
export const LEAST_CHARACTERS = 12

/** Changes the own password: with the one before and a code, as a login does. */
function PasswordForm() {
  const { typed, setTyped, of } = useTyped(EMPTY)
  const change = async () => {
    const { new_password, again, ...proof } = typed
    if (again !== new_password) return undefined
    return await api.post('/v1/auth/password', { body: { ...proofOf(proof), new_password } })
  }
  const isOther = typed.again !== '' && typed.again !== typed.new_password
  return (
    <Card title={t('account.password')}>
      <Form
        submit={t('account.password')}
        act={change}
        done={t('account.password.done')}
        onDone={() => setTyped(EMPTY)}
      >
        <ProofFields of={of} />
        <Field
          {...of('new_password')}
          label={t('account.password.new')}
          help={t('account.password.help', { count: LEAST_CHARACTERS })}
          type="password"
          autocomplete="new-password"
          minLength={LEAST_CHARACTERS}
          isRequired
        />
        <Field
          {...of('again')}
          text="account.password.again"
          error={isOther ? t('account.password.other') : undefined}
          type="password"
          autocomplete="new-password"
          isRequired
        />
      </Form>
    </Card>
  )
}

/** Who is signed in, and by what: what a person can change of it. */
export function Page() {
  const who = me.value
  if (who === undefined) return null
  const isPerson = who.kind === 'user'
  return (
    <>
      <h1>{t('account.title')}</h1>
      <section class="card" aria-label={t('account.who')}>
        <Facts
          facts={[
            [t('people.name'), who.kind === 'admin-env' ? undefined : who.name],
            [t('account.by'), word('account.kind', who.kind)],
            [t('people.roles'), rolesText(who.roles)],
          ]}
        />
        {isPerson ? null : <Notice>{t('account.noPerson')}</Notice>}
      </section>
      <LanguageChoice />
      {isPerson ? <Own /> : null}
    </>
  )
}

/** The language of the console in this browser. */
function LanguageChoice() {
  const nameOf = (code: string): string => new Intl.DisplayNames(code, { type: 'language' }).of(code) ?? code
  return (
    <section class="card" aria-label={t('account.language')}>
      <Select
        text="account.language"
        value={chosenLanguage()}
        onChange={chooseLanguage}
        options={[
          { value: '', label: t('account.language.browser') },
          ...LANGUAGES.map((code) => ({ value: code, label: nameOf(code) })),
        ]}
      />
    </section>
  )
}

function Own() {
  const sessions = useQuery('/v1/auth/sessions', { query: { limit: 500 } })
  const userId = sessions.data?.sessions.find(({ current }) => current)?.user_id
  return (
    <>
      <div class="cards">
        <PasswordForm />
        <OwnRecovery />
      </div>
      <Passkeys />
      {userId === undefined ? null : (
        <section class="card" aria-label={t('people.sessions')}>
          <h2>{t('account.sessions')}</h2>
          <Sessions userId={userId} />
        </section>
      )}
    </>
  )
}

type Passkey = AnswerOf<'GET', '/v1/auth/passkeys'>['passkeys'][number]

/** One's own passkeys: made on this device, and removed. */
function Passkeys() {
  const [chosen, setChosen] = useState<Passkey>()
  const passkeys = useQuery('/v1/auth/passkeys', {}, { on: ['passkey.*'] })
  return (
    <Card title={t('people.passkeys')}>
      <p>{t('account.passkeys.what')}</p>
      <Loaded query={passkeys}>
        {(known) => <PasskeyList passkeys={known.passkeys} onRemove={setChosen} />}
      </Loaded>
      {hasPasskeys() ? (
        <NewPasskey onMade={passkeys.reload} />
      ) : (
        <Notice tone="warn">{t('account.passkeys.noTls')}</Notice>
      )}
      {chosen === undefined ? null : (
        <FormDialog
          text="account.passkey.remove"
          values={{ name: chosen.label }}
          confirm={t('people.passkey.remove')}
          isDanger
          act={() => api.delete('/v1/auth/passkeys/{id}', { path: { id: chosen.id } })}
          done={t('people.passkey.removed')}
          onDone={passkeys.reload}
          onClose={() => setChosen(undefined)}
        />
      )}
    </Card>
  )
}

function NewPasskey({ onMade }: { readonly onMade: () => void }) {
  const [label, setLabel] = useState('')
  const [isCancelled, setCancelled] = useState(false)
  const register = async () => {
    setCancelled(false)
    const result = await registerPasskey(label)
    setCancelled(result === undefined)
    return result
  }
  return (
    <Form
      submit={t('account.passkey.make')}
      act={register}
      done={t('account.passkey.made')}
      onDone={() => {
        setLabel('')
        onMade()
      }}
    >
      <Field text="account.passkey.label" value={label} onInput={setLabel} maxLength={64} />
      {isCancelled ? <Notice tone="warn">{t('account.passkey.cancelled')}</Notice> : null}
    </Form>
  )
}

type Verify = RequestOf<'POST', '/v1/auth/passkey/register/verify'>['body']

/** Makes a passkey on this device for who is signed in. Undefined: the person or the device did not. */
async function registerPasskey(label: string): Promise<Result<unknown> | undefined> {
  const asked = await api.post('/v1/auth/passkey/register/options', { body: {} })
  if (!asked.ok) return asked
  // The service gives them as the browser takes them.
  const options = asked.data.options as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const made = await navigator.credentials.create({ publicKey }).catch(() => null)
  if (!(made instanceof PublicKeyCredential)) return undefined
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
