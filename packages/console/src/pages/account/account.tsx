import { me } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Facts } from '../../ui/facts.tsx'
import { Notice } from '../../ui/notice.tsx'
import { rolesText } from '../people/roles.tsx'
import { Sessions } from '../people/sessions.tsx'
import { Passkeys } from './passkeys.tsx'
import { PasswordForm } from './password-form.tsx'
import { OwnRecovery } from './recovery-codes.tsx'

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
      {isPerson ? <Own /> : null}
    </>
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
