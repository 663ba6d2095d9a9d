import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-rows.ts'
import { navigate } from '../../app/router.ts'
import { choices, locale, t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/parts.tsx'
import { OnlyHere, QrCode } from '../../ui/qr-code.tsx'
import { PendingInvitations } from './pending.tsx'
import { FEW_CODES, NewcomerDialog, PERSON_NAME, rolesText, type User } from './roles.tsx'
import { type Drawn, DrawnCredentials, Secret, ShownOnce } from './shown-once.tsx'

const LENGTHS = ['24h', '72h', '7d', '30d'] as const

/** Invites a person: a link that is good once, shown once. */
function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [length, setLength] = useState<string>('72h')
  const [made, setMade] = useState<Invited>()
  if (made !== undefined) return <Invitation made={made} onClose={onClose} />
  return (
    <NewcomerDialog
      text="people.invite"
      help={t('people.name.help')}
      pattern={PERSON_NAME}
      make={(newcomer) => api.post('/v1/users/invitations', { body: { ...newcomer, expires_in: length } })}
      onDone={setMade}
      onClose={onClose}
    >
      <Select
        text="people.invite.for"
        value={length}
        onChange={setLength}
        options={choices('people.for', LENGTHS)}
      />
    </NewcomerDialog>
  )
}

type Invited = AnswerOf<'POST', '/v1/users/invitations'>

function Invitation({ made, onClose }: { readonly made: Invited; readonly onClose: () => void }) {
  const link = `${location.origin}/v1/auth/invitation#${made.token}`
  return (
    <ShownOnce title={t('people.invited', { name: made.name })} onClose={onClose}>
      <p>{t('people.invited.what', { until: new Date(made.expires_at).toLocaleString(locale()) })}</p>
      <OnlyHere text={link}>{t('people.invited.here')}</OnlyHere>
      <QrCode text={link} what={t('people.invited.link')} />
      <Secret label={t('people.invited.link')} text={link} />
    </ShownOnce>
  )
}

/** The people, and ways to have more of them. */
export function Users() {
  const [dialog, setDialog] = useState<'invite' | 'add'>()
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
      text: 'people.name',
      cell: ({ id, name }) => <a href={`/people/${id}`}>{name}</a>,
      of: 'name',
      isSortable: true,
    },
    { text: 'people.roles', cell: ({ roles }) => rolesText(roles) },
    { text: 'people.lastLogin', of: 'last_login_at', as: 'ago', none: 'people.never' },
    {
      text: 'people.recovery',
      cell: ({ recovery_codes_left: left }) =>
        left < FEW_CODES ? t('people.recovery.few', { count: left }) : left,
      isNumeric: true,
      isWide: true,
    },
    { text: 'people.since', of: 'created_at', as: 'day', isWide: true },
  ]
}

/** Adds a person whose credentials are drawn here, for who stands beside you. */
function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const [drawn, setDrawn] = useState<Drawn>()
  if (drawn !== undefined) return <DrawnCredentials drawn={drawn} onClose={onClose} />
  return (
    <NewcomerDialog
      text="people.add"
      help={t('people.name.help')}
      pattern={PERSON_NAME}
      make={(newcomer) => api.post('/v1/users', { body: newcomer })}
      onDone={setDrawn}
      onClose={onClose}
    />
  )
}
