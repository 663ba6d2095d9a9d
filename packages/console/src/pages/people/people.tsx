import type { ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-rows.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { RowButton } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { EmptyState } from '../../ui/parts.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { rolesText } from './roles.tsx'
import { Sessions } from './sessions.tsx'
import { Tokens } from './tokens.tsx'
import { Users } from './users.tsx'

/** Everybody and everything that may come in. */
export function Page() {
  return (
    <>
      <h1>{t('people.title')}</h1>
      <Tabs
        label={t('people.title')}
        chosen={filter('tab')}
        onChoose={(tab) => setFilters({ tab })}
        tabs={[
          { key: 'users', title: t('people.users'), content: () => <Users /> },
          { key: 'invitations', title: t('people.invitations'), content: () => <Invitations /> },
          { key: 'tokens', title: t('people.tokens'), content: () => <Tokens /> },
          { key: 'sessions', title: t('people.sessions'), content: () => <Sessions /> },
        ]}
      />
    </>
  )
}

type Invitation = ItemOf<'/v1/users/invitations'>

/** Invitations that can be accepted still. */
function Invitations() {
  const [chosen, setChosen] = useState<Invitation>()
  const invitations = usePages('/v1/users/invitations', {}, ['user.*'])
  return (
    <>
      <PagedTable
        query={invitations}
        label={t('people.invitations')}
        columns={columns(setChosen)}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title={t('people.invitations.none')}>{t('people.invitations.none.help')}</EmptyState>
        }
      />
      {chosen === undefined ? null : (
        <FormDialog
          text="people.withdraw"
          values={{ name: chosen.name }}
          isDanger
          act={() => api.delete('/v1/users/invitations/{id}', { path: { id: chosen.id } })}
          onDone={invitations.reload}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

function columns(onWithdraw: (one: Invitation) => void): readonly Column<Invitation>[] {
  return [
    { text: 'people.name', of: 'name' },
    { text: 'people.roles', cell: ({ roles }) => rolesText(roles) },
    { text: 'people.until', of: 'expires_at', as: 'ago' },
    { text: 'people.by', cell: ({ created_by }) => created_by.name, isWide: true },
    {
      text: 'people.actions',
      cell: (one) => <RowButton text="people.withdraw" of={one.name} onClick={() => onWithdraw(one)} />,
    },
  ]
}
