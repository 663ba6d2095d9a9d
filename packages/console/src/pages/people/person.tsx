import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import type { PageProps } from '../../app/pages.ts'
import { navigate } from '../../app/router.ts'
import { named, t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { PasskeyList } from './passkey-list.tsx'
import { RoleBoxes, rolesOf, rolesText } from './roles.tsx'
import { Sessions } from './sessions.tsx'
import { type Drawn, DrawnCredentials } from './shown-once.tsx'
import type { User } from './user.ts'

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

function Person({ user, onChanged }: { readonly user: User; readonly onChanged: () => void }) {
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
          <PersonRoles user={user} onChanged={onChanged} />
          <PersonReset user={user} onChanged={onChanged} />
          <PersonRemove user={user} />
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
function PersonReset({ user, onChanged }: { readonly user: User; readonly onChanged: () => void }) {
  const [asked, setAsked] = useState<'reset' | 'totp' | undefined>(undefined)
  const [drawn, setDrawn] = useState<Drawn | undefined>(undefined)
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
  const remove = useAction((passkey: string) =>
    api.delete('/v1/users/{id}/passkeys/{passkey}', { path: { id, passkey } }),
  )
  const run = async (passkey: string): Promise<void> => {
    if ((await remove.run(passkey))?.ok !== true) return
    toast({ text: t('people.passkey.removed') })
    passkeys.reload()
  }
  return (
    <>
      <Card title={t('people.passkeys')}>
        <ErrorNotice error={remove.error} />
        <Loaded query={passkeys}>
          {(known) => <PasskeyList passkeys={known.passkeys} onRemove={(one) => void run(one.id)} />}
        </Loaded>
      </Card>
      <Certificates id={id} />
    </>
  )
}

type Certificate = ItemOf<'/v1/users/{id}/certificates'>

function Certificates({ id }: { readonly id: string }) {
  const certificates = useQuery('/v1/users/{id}/certificates', { path: { id } }, { on: ['user.*'] })
  const revoke = useAction((serial: string) =>
    api.delete('/v1/users/{id}/certificates/{serial}', { path: { id, serial } }),
  )
  const run = async (serial: string): Promise<void> => {
    if ((await revoke.run(serial))?.ok === true) certificates.reload()
  }
  return (
    <Card title={t('people.certificates')}>
      <ErrorNotice error={revoke.error} />
      <Loaded query={certificates}>
        {(known) => (
          <DataTable
            label={t('people.certificates')}
            rows={known.certificates}
            columns={columns((serial) => void run(serial))}
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
    { key: 'label', title: t('people.name'), cell: ({ label, serial }) => label || serial.slice(0, 12) },
    { key: 'until', title: t('people.until'), cell: ({ expires_at }) => <Time at={expires_at} relative /> },
    {
      key: 'do',
      title: t('people.actions'),
      cell: ({ serial, label, revoked_at }) =>
        revoked_at === null ? (
          <Button
            kind="quiet"
            label={named(t('people.certificate.revoke'), label || serial.slice(0, 12))}
            onClick={() => onRevoke(serial)}
          >
            {t('people.certificate.revoke')}
          </Button>
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
function PersonRoles({ user, onChanged }: RolesProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('people.roles.change')}</Button>
      {isOpen ? <RolesDialog user={user} onChanged={onChanged} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

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
function PersonRemove({ user }: { readonly user: User }) {
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button kind="danger" onClick={() => setAsked(true)}>
        {t('people.remove')}
      </Button>
      {isAsked ? <RemoveDialog user={user} onClose={() => setAsked(false)} /> : null}
    </>
  )
}

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
