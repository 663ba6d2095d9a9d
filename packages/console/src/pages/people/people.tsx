import { filter, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Tabs } from '../../ui/tabs.tsx'
import { Invitations } from './invitations.tsx'
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
