import { useQuery } from '../../api/use-query.ts'
import type { PageProps } from '../../app/pages.ts'
import { t } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Time } from '../../ui/time.tsx'
import { PersonKeys } from './person-keys.tsx'
import { PersonReset } from './person-reset.tsx'
import { PersonRemove, PersonRoles } from './person-roles.tsx'
import { rolesText } from './roles.tsx'
import { Sessions } from './sessions.tsx'
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
      <section class="card" aria-label={t('people.sessions')}>
        <h2>{t('people.sessions')}</h2>
        <Sessions userId={user.id} />
      </section>
      <PersonKeys user={user} />
    </>
  )
}
