import { useState } from 'preact/hooks'
import { usePages } from '../../api/use-pages.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Time } from '../../ui/time.tsx'
import { AddDialog } from './add-dialog.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { rolesText } from './roles.tsx'
import { FEW_CODES, type User } from './user.ts'

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
        <Button kind="primary" onClick={() => setDialog('invite')}>
          {t('people.invite')}
        </Button>
        <Button onClick={() => setDialog('add')}>{t('people.add')}</Button>
      </div>
      <Loaded query={users}>
        {(rows) => (
          <DataTable
            label={t('people.users')}
            rows={rows}
            columns={columns()}
            keyOf={({ id }) => id}
            onOpen={({ id }) => navigate(`/people/${id}`)}
            empty={<EmptyState title={t('people.users.none')}>{t('people.users.none.help')}</EmptyState>}
            footer={users.more === undefined ? null : <Button onClick={users.more}>{t('ui.more')}</Button>}
          />
        )}
      </Loaded>
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
