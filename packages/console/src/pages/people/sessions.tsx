import type { ItemOf } from '@steeple/client'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import { useAction } from '../../api/use-query.ts'
import { named, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { PagedTable } from '../../ui/paged-table.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'

type Session = ItemOf<'/v1/auth/sessions'>

/** Sessions that are alive: everybody's, or those of one person. */
export function Sessions({ userId }: { readonly userId?: string }) {
  const sessions = usePages('/v1/auth/sessions', { user_id: userId }, ['auth.*', 'user.*'])
  const end = useAction((id: string) => api.delete('/v1/auth/sessions/{id}', { path: { id } }))
  const run = async (id: string): Promise<void> => {
    if ((await end.run(id))?.ok !== true) return
    toast({ text: t('people.session.ended') })
    sessions.reload()
  }
  return (
    <>
      <ErrorNotice error={end.error} />
      <PagedTable
        query={sessions}
        label={t('people.sessions')}
        columns={columns(userId === undefined, (id) => void run(id))}
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
  const name: Column<Session> = { key: 'name', title: t('people.name'), cell: ({ user_name }) => user_name }
  return [
    ...(withNames ? [name] : []),
    {
      key: 'agent',
      title: t('people.session.device'),
      cell: ({ agent }) => <span title={agent}>{deviceText(agent)}</span>,
    },
    { key: 'address', title: t('people.session.address'), cell: ({ address }) => address },
    {
      key: 'method',
      title: t('people.session.method'),
      cell: ({ method }) => word('people.method', method),
      isWide: true,
    },
    {
      key: 'used',
      title: t('people.session.used'),
      cell: ({ last_used_at }) => <Time at={last_used_at} relative />,
    },
    {
      key: 'do',
      title: t('people.actions'),
      cell: ({ id, current, user_name }) =>
        current ? (
          <Lamp tone="ok" label={t('people.session.current')} />
        ) : (
          <Button kind="quiet" label={named(t('people.session.end'), user_name)} onClick={() => onEnd(id)}>
            {t('people.session.end')}
          </Button>
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
