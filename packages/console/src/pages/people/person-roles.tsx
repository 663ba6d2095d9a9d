import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { RoleBoxes, rolesOf, rolesText } from './roles.tsx'
import type { User } from './user.ts'

/** Sets the roles of a person. */
export function PersonRoles({ user, onChanged }: { readonly user: User; readonly onChanged: () => void }) {
  const [roles, setRoles] = useState<ReadonlySet<string> | undefined>(undefined)
  // What the choice was begun from: somebody else may give other roles meanwhile.
  const [before, setBefore] = useState('')
  const now = rolesText(user.roles)
  const isStale = roles !== undefined && before !== now
  const begin = (chosen: ReadonlySet<string>): void => {
    setRoles(chosen)
    setBefore(now)
  }
  const [isForced, setForced] = useState(false)
  const set = useAction((wanted: ReadonlySet<string>) =>
    api.post('/v1/users/{id}/roles', {
      path: { id: user.id },
      query: { force: isForced },
      body: { roles: rolesOf(wanted) },
    }),
  )
  const run = async (wanted: ReadonlySet<string>): Promise<void> => {
    if ((await set.run(wanted))?.ok !== true) return
    setRoles(undefined)
    toast({ text: t('people.roles.done') })
    onChanged()
  }
  return (
    <>
      <Button onClick={() => begin(new Set(user.roles))}>{t('people.roles.change')}</Button>
      <ConfirmDialog
        isOpen={roles !== undefined}
        title={t('people.roles.title', { name: user.name })}
        confirm={t('people.roles.change')}
        isBusy={set.isBusy}
        isDisabled={roles?.size === 0 || isStale}
        error={set.error}
        onConfirm={() => void run(roles ?? new Set())}
        onClose={() => setRoles(undefined)}
      >
        <p>{t('people.roles.what')}</p>
        {isStale ? (
          <Notice tone="warn">
            <p>{t('people.roles.stale', { name: user.name, roles: now })}</p>
            <div class="actions">
              <Button onClick={() => begin(new Set(user.roles))}>{t('rules.stale.drop')}</Button>
              <Button onClick={() => begin(roles)}>{t('rules.stale.keep')}</Button>
            </div>
          </Notice>
        ) : null}
        <RoleBoxes chosen={roles ?? new Set()} onChange={setRoles} />
        {set.error?.code === 'last_admin' ? (
          <Checkbox label={t('people.lastAdmin')} isChecked={isForced} onChange={setForced} />
        ) : null}
      </ConfirmDialog>
    </>
  )
}

/** Removes a person, after what that means has been said. */
export function PersonRemove({ user }: { readonly user: User }) {
  const [isAsked, setAsked] = useState(false)
  const [isForced, setForced] = useState(false)
  const remove = useAction(() =>
    api.delete('/v1/users/{id}', { path: { id: user.id }, query: { force: isForced } }),
  )
  const run = async (): Promise<void> => {
    if ((await remove.run())?.ok !== true) return
    toast({ text: t('people.removed', { name: user.name }) })
    navigate('/people')
  }
  return (
    <>
      <Button kind="danger" onClick={() => setAsked(true)}>
        {t('people.remove')}
      </Button>
      <ConfirmDialog
        isOpen={isAsked}
        title={t('people.remove.title', { name: user.name })}
        confirm={t('people.remove')}
        isDanger
        isBusy={remove.isBusy}
        error={remove.error}
        onConfirm={() => void run()}
        onClose={() => setAsked(false)}
      >
        <ul>
          <li>{t('people.remove.sessions')}</li>
          <li>{t('people.remove.tokens')}</li>
          <li>{t('people.remove.trail')}</li>
        </ul>
        {remove.error?.code === 'last_admin' ? (
          <Checkbox label={t('people.lastAdmin')} isChecked={isForced} onChange={setForced} />
        ) : null}
      </ConfirmDialog>
    </>
  )
}
