import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { navigate } from '../../app/router.ts'
import { choices, locale, t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Select } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { OnlyHere, QrCode } from '../../ui/qr-code.tsx'
import { Time } from '../../ui/time.tsx'
import { PendingInvitations } from './pending.tsx'
import { NameAndRoles, PERSON_NAME, rolesOf, rolesText } from './roles.tsx'
import { type Drawn, DrawnCredentials, Secret, ShownOnce } from './shown-once.tsx'
import { FEW_CODES, type User } from './user.ts'

const LENGTHS = ['24h', '72h', '7d', '30d'] as const

/** Invites a person: a link that is good once, shown once. */
function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [length, setLength] = useState<string>('72h')
  const [made, setMade] = useState<{ readonly token: string; readonly expires_at: string } | undefined>(
    undefined,
  )
  if (made !== undefined) return <Invitation name={name} made={made} onClose={onClose} />
  return (
    <FormDialog
      text="people.invite"
      isDisabled={roles.size === 0}
      act={() =>
        api.post('/v1/users/invitations', { body: { name, roles: rolesOf(roles), expires_in: length } })
      }
      onDone={setMade}
      onClose={onClose}
    >
      <NameAndRoles
        help={t('people.name.help')}
        pattern={PERSON_NAME}
        name={name}
        onName={setName}
        roles={roles}
        onRoles={setRoles}
      />
      <Select
        text="people.invite.for"
        value={length}
        onChange={setLength}
        options={choices('people.for', LENGTHS)}
      />
    </FormDialog>
  )
}

function Invitation({
  name,
  made,
  onClose,
}: {
  readonly name: string
  readonly made: { readonly token: string; readonly expires_at: string }
  readonly onClose: () => void
}) {
  const link = `${location.origin}/v1/auth/invitation#${made.token}`
  return (
    <ShownOnce title={t('people.invited', { name })} onClose={onClose}>
      <p>{t('people.invited.what', { until: new Date(made.expires_at).toLocaleString(locale()) })}</p>
      <OnlyHere text={link}>{t('people.invited.here')}</OnlyHere>
      <QrCode text={link} what={t('people.invited.link')} />
      <Secret label={t('people.invited.link')} text={link} />
    </ShownOnce>
  )
}

/** The people, and ways to have more of them. */
export function Users() {
  const [dialog, setDialog] = useState<'invite' | 'add' | undefined>(undefined)
  const users = usePages('/v1/users', {}, ['user.*', 'auth.login'])
  const close = (): void => {
    setDialog(undefined)
    users.reload()
  }
  return (
    <>
      <div class="toolbar">
        <Button icon="plus" kind="primary" onClick={() => setDialog('invite')}>
          {t('people.invite')}
        </Button>
        <Button onClick={() => setDialog('add')}>{t('people.add')}</Button>
      </div>
      <PendingInvitations />
      <PagedTable
        query={users}
        label={t('people.users')}
        columns={columns()}
        keyOf={({ id }) => id}
        onOpen={({ id }) => navigate(`/people/${id}`)}
        empty={<EmptyState title={t('people.users.none')}>{t('people.users.none.help')}</EmptyState>}
      />
      {dialog === 'invite' ? <InviteDialog onClose={close} /> : null}
      {dialog === 'add' ? <AddDialog onClose={close} /> : null}
    </>
  )
}

function columns(): readonly Column<User>[] {
  return [
    {
      key: 'name',
      title: t('people.name'),
      cell: ({ id, name }) => <a href={`/people/${id}`}>{name}</a>,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    { key: 'roles', title: t('people.roles'), cell: ({ roles }) => rolesText(roles) },
    {
      key: 'login',
      title: t('people.lastLogin'),
      cell: ({ last_login_at: at }) => (at === null ? t('people.never') : <Time at={at} relative />),
    },
    {
      key: 'codes',
      title: t('people.recovery'),
      cell: ({ recovery_codes_left: left }) =>
        left < FEW_CODES ? t('people.recovery.few', { count: left }) : left,
      isNumeric: true,
      isWide: true,
    },
    {
      key: 'since',
      title: t('people.since'),
      cell: ({ created_at }) => <Time at={created_at} dateOnly />,
      isWide: true,
    },
  ]
}

/** Adds a person whose credentials are drawn here, for who stands beside you. */
function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [drawn, setDrawn] = useState<Drawn | undefined>(undefined)
  if (drawn !== undefined) return <DrawnCredentials drawn={drawn} onClose={onClose} />
  return (
    <FormDialog
      text="people.add"
      isDisabled={roles.size === 0}
      act={() => api.post('/v1/users', { body: { name, roles: rolesOf(roles) } })}
      onDone={setDrawn}
      onClose={onClose}
    >
      <NameAndRoles
        help={t('people.name.help')}
        pattern={PERSON_NAME}
        name={name}
        onName={setName}
        roles={roles}
        onRoles={setRoles}
      />
    </FormDialog>
  )
}
