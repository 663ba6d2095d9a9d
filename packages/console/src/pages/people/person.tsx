import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import type { PageProps } from '../../app/pages.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button, ButtonLink, RowButton } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { ErrorNotice, Loaded } from '../../ui/notice.tsx'
import { Card, EmptyState, Facts } from '../../ui/parts.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { Time } from '../../ui/time.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { PasskeyList } from './passkey-list.tsx'
import type { User } from './roles.tsx'
import { RoleBoxes, rolesOf, rolesText } from './roles.tsx'
import { Sessions } from './sessions.tsx'
import { type Drawn, DrawnCredentials } from './shown-once.tsx'

/** One person: roles, sessions, ways in, and the end of them. */
export function Page({ params: { id = '' } }: PageProps) {
  const users = useQuery('/v1/users', { query: { limit: 500 } }, { on: ['user.*'] })
  return (
    <>
      <p>
        <a href="/people">{t('people.title')}</a>
      </p>
      <Loaded query={users}>
        {(all) => {
          const user = all.users.find((one) => one.id === id)
          return user === undefined ? <Nobody /> : <Person user={user} onChanged={users.reload} />
        }}
      </Loaded>
    </>
  )
}

function Nobody() {
  return (
    <>
      <h1>{t('people.one')}</h1>
      <EmptyState
        title={t('people.gone')}
        action={<ButtonLink href="/people">{t('people.title')}</ButtonLink>}
      />
    </>
  )
}

function Person({ user, onChanged }: RolesProps) {
  const [open, setOpen] = useState<'roles' | 'remove'>()
  const close = (): void => setOpen(undefined)
  return (
    <>
      <h1>{user.name}</h1>
      <section class="card" aria-label={t('people.one')}>
        <Facts
          facts={[
            [t('people.roles'), rolesText(user.roles)],
            [t('people.since'), <Time key="since" at={user.created_at} />],
            [
              t('people.lastLogin'),
              user.last_login_at === null ? t('people.never') : <Time at={user.last_login_at} relative />,
            ],
            [t('people.recovery'), t('people.recovery.left', { count: user.recovery_codes_left })],
          ]}
        />
        <div class="actions">
          <Button onClick={() => setOpen('roles')}>{t('people.roles.change')}</Button>
          <PersonReset user={user} onChanged={onChanged} />
          <Button kind="danger" onClick={() => setOpen('remove')}>
            {t('people.remove')}
          </Button>
          {open === 'roles' ? <RolesDialog user={user} onChanged={onChanged} onClose={close} /> : null}
          {open === 'remove' ? <RemoveDialog user={user} onClose={close} /> : null}
        </div>
      </section>
      <Card title={t('people.sessions')}>
        <Sessions userId={user.id} />
      </Card>
      <PersonKeys user={user} />
    </>
  )
}

/** Gives a person another authenticator, or everything anew; both are shown once. */
function PersonReset({ user, onChanged }: RolesProps) {
  const [asked, setAsked] = useState<'reset' | 'totp'>()
  const [drawn, setDrawn] = useState<Drawn>()
  return (
    <>
      <Button onClick={() => setAsked('totp')}>{t('people.totp')}</Button>
      <Button onClick={() => setAsked('reset')}>{t('people.reset')}</Button>
      {asked === undefined ? null : (
        <FormDialog<Drawn>
          text={`people.${asked}`}
          values={{ name: user.name }}
          isDanger={asked === 'reset'}
          act={() => api.post(`/v1/users/{id}/${asked}`, { path: { id: user.id }, body: {} })}
          onDone={(made) => {
            setAsked(undefined)
            setDrawn({ name: user.name, ...made })
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
      {drawn === undefined ? null : (
        <DrawnCredentials
          drawn={drawn}
          onClose={() => {
            setDrawn(undefined)
            onChanged()
          }}
        />
      )}
    </>
  )
}

/** Passkeys and certificates of a person. */
function PersonKeys({ user }: { readonly user: User }) {
  const { id } = user
  const passkeys = useQuery('/v1/users/{id}/passkeys', { path: { id } }, { on: ['passkey.*', 'user.*'] })
  const remove = useAction(
    (passkey: string) => api.delete('/v1/users/{id}/passkeys/{passkey}', { path: { id, passkey } }),
    { done: t('people.passkey.removed'), onDone: passkeys.reload },
  )
  return (
    <>
      <Card title={t('people.passkeys')}>
        <ErrorNotice error={remove.error} />
        <Loaded query={passkeys}>
          {(known) => <PasskeyList passkeys={known.passkeys} onRemove={(one) => void remove.run(one.id)} />}
        </Loaded>
      </Card>
      <Certificates id={id} />
    </>
  )
}

type Certificate = ItemOf<'/v1/users/{id}/certificates'>

function Certificates({ id }: { readonly id: string }) {
  const certificates = useQuery('/v1/users/{id}/certificates', { path: { id } }, { on: ['user.*'] })
  const revoke = useAction(
    (serial: string) => api.delete('/v1/users/{id}/certificates/{serial}', { path: { id, serial } }),
    { onDone: certificates.reload },
  )
  return (
    <Card title={t('people.certificates')}>
      <ErrorNotice error={revoke.error} />
      <Loaded query={certificates}>
        {(known) => (
          <DataTable
            label={t('people.certificates')}
            rows={known.certificates}
            columns={columns((serial) => void revoke.run(serial))}
            keyOf={({ serial }) => serial}
            empty={
              <p>
                {t('people.certificates.none')} <code>svc user cert</code>
              </p>
            }
          />
        )}
      </Loaded>
    </Card>
  )
}

function columns(onRevoke: (serial: string) => void): readonly Column<Certificate>[] {
  return [
    { text: 'people.name', cell: ({ label, serial }) => label || serial.slice(0, 12) },
    { text: 'people.until', of: 'expires_at', as: 'ago' },
    {
      text: 'people.actions',
      cell: ({ serial, label, revoked_at }) =>
        revoked_at === null ? (
          <RowButton
            text="people.certificate.revoke"
            of={label || serial.slice(0, 12)}
            onClick={() => onRevoke(serial)}
          />
        ) : (
          t('people.certificate.revoked')
        ),
    },
  ]
}

interface RolesProps {
  readonly user: User
  readonly onChanged: () => void
}

/** Sets the roles of a person. */
function RolesDialog({ user, onChanged, onClose }: RolesProps & { readonly onClose: () => void }) {
  const draft = useDraft(rolesOf(new Set(user.roles)))
  const [isForced, setForced] = useState(false)
  return (
    <FormDialog
      text="people.roles.change"
      values={{ name: user.name }}
      isDisabled={draft.value.length === 0}
      isStale={draft.isStale}
      act={() =>
        api.post('/v1/users/{id}/roles', {
          path: { id: user.id },
          query: { force: isForced },
          body: { roles: draft.value },
        })
      }
      onDone={onChanged}
      onClose={onClose}
    >
      {({ error, clear }) => (
        <>
          <StaleNotice
            draft={draft}
            text={rolesText}
            told={t('people.roles.stale', { name: user.name })}
            onChosen={clear}
          />
          <RoleBoxes chosen={new Set(draft.value)} onChange={(chosen) => draft.set(rolesOf(chosen))} />
          {error?.code === 'last_admin' ? (
            <Checkbox text="people.lastAdmin" isChecked={isForced} onChange={setForced} />
          ) : null}
        </>
      )}
    </FormDialog>
  )
}

/** Removes a person, after what that means has been said. */
function RemoveDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const [isForced, setForced] = useState(false)
  return (
    <FormDialog
      text="people.remove"
      values={{ name: user.name }}
      isDanger
      act={() => api.delete('/v1/users/{id}', { path: { id: user.id }, query: { force: isForced } })}
      onDone={() => navigate('/people')}
      onClose={onClose}
    >
      {({ error }) => (
        <>
          <ul>
            <li>{t('people.remove.sessions')}</li>
            <li>{t('people.remove.tokens')}</li>
            <li>{t('people.remove.trail')}</li>
          </ul>
          {error?.code === 'last_admin' ? (
            <Checkbox text="people.lastAdmin" isChecked={isForced} onChange={setForced} />
          ) : null}
        </>
      )}
    </FormDialog>
  )
}
