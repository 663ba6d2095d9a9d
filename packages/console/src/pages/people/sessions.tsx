import type { ItemOf } from '@steeple/client'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { usePages } from '../../api/use-rows.ts'
import { t, word } from '../../text/index.ts'
import { RowButton } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { EmptyState, Lamp } from '../../ui/parts.tsx'

type Session = ItemOf<'/v1/auth/sessions'>

/** Sessions that are alive: everybody's, or those of one person. */
export function Sessions({ userId }: { readonly userId?: string }) {
  const sessions = usePages('/v1/auth/sessions', { user_id: userId }, ['auth.*', 'user.*'])
  const end = useAction((id: string) => api.delete('/v1/auth/sessions/{id}', { path: { id } }), {
    done: t('people.session.ended'),
    onDone: sessions.reload,
  })
  return (
    <>
      <ErrorNotice error={end.error} />
      <PagedTable
        query={sessions}
        label={t('people.sessions')}
        columns={columns(userId === undefined, (id) => void end.run(id))}
        keyOf={({ id }) => id}
        empty={
          userId === undefined ? (
            <EmptyState title={t('people.sessions.none')}>{t('people.sessions.none.help')}</EmptyState>
          ) : (
            <p>{t('people.sessions.nowhere')}</p>
          )
        }
      />
    </>
  )
}

function columns(withNames: boolean, onEnd: (id: string) => void): readonly Column<Session>[] {
  const name: Column<Session> = { text: 'people.name', of: 'user_name' }
  return [
    ...(withNames ? [name] : []),
    { text: 'people.session.device', cell: ({ agent }) => <span title={agent}>{deviceText(agent)}</span> },
    { text: 'people.session.address', of: 'address' },
    { text: 'people.session.method', cell: ({ method }) => word('people.method', method), isWide: true },
    { text: 'people.session.used', of: 'last_used_at', as: 'ago' },
    {
      text: 'people.actions',
      cell: ({ id, current, user_name }) =>
        current ? (
          <Lamp tone="ok" label={t('people.session.current')} />
        ) : (
          <RowButton text="people.session.end" of={user_name} onClick={() => onEnd(id)} />
        ),
    },
  ]
}

const BROWSERS = ['Edg', 'Firefox', 'Chrome', 'Safari', 'curl', 'node'] as const
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'] as const

/** What calls itself that, as people say it: `Firefox, Android`. */
function deviceText(agent: string): string {
  const browser = BROWSERS.find((one) => agent.includes(one))?.replace(/^Edg$/, 'Edge')
  const system = SYSTEMS.find((one) => agent.includes(one))
  const known = [browser, system].filter((one) => one !== undefined).join(', ')
  return known === '' ? agent.slice(0, 40) : known
}
