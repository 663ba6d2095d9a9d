import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { type Drawn, DrawnCredentials } from './shown-once.tsx'
import type { User } from './user.ts'

/** Gives a person another authenticator, or everything anew; both are shown once. */
export function PersonReset({ user, onChanged }: { readonly user: User; readonly onChanged: () => void }) {
  const [asked, setAsked] = useState<'reset' | 'totp' | undefined>(undefined)
  const [drawn, setDrawn] = useState<Drawn | undefined>(undefined)
  const path = { id: user.id }
  const reset = useAction(() => api.post('/v1/users/{id}/reset', { path, body: {} }))
  const totp = useAction(() => api.post('/v1/users/{id}/totp', { path, body: {} }))
  const action = asked === 'reset' ? reset : totp
  const run = async (): Promise<void> => {
    const result = await action.run()
    if (result?.ok !== true) return
    setAsked(undefined)
    setDrawn({ name: user.name, ...result.data })
  }
  const key = asked ?? 'reset'
  return (
    <>
      <Button onClick={() => setAsked('totp')}>{t('people.totp')}</Button>
      <Button onClick={() => setAsked('reset')}>{t('people.reset')}</Button>
      <ConfirmDialog
        isOpen={asked !== undefined}
        title={t(`people.${key}.title`, { name: user.name })}
        confirm={t(`people.${key}`)}
        isDanger={asked === 'reset'}
        isBusy={action.isBusy}
        error={action.error}
        onConfirm={() => void run()}
        onClose={() => setAsked(undefined)}
      >
        <p>{t(`people.${key}.what`)}</p>
      </ConfirmDialog>
      {drawn === undefined ? null : (
        <DrawnCredentials
          drawn={drawn}
          onClose={() => {
            setDrawn(undefined)
            onChanged()
          }}
        />
      )}
    </>
  )
}
