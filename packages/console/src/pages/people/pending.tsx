import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Notice } from '../../ui/notice.tsx'

/** Who is invited and has not accepted yet, and where that is withdrawn; nothing where nobody is. */
export function PendingInvitations() {
  const { data } = useQuery('/v1/users/invitations', {}, { on: ['user.*'] })
  const names = data?.invitations.map(({ name }) => name) ?? []
  if (names.length === 0) return null
  return (
    <Notice>
      {t('people.invitations.pending', { names: names.join(', ') })}{' '}
      <a href="/people?tab=invitations">{t('people.invitations')}</a>
    </Notice>
  )
}
