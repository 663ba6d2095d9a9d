import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { Role } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { RoleBoxes, rolesOf, rolesText } from './roles.tsx'
import type { User } from './user.ts'

interface RolesProps {
  readonly user: User
  readonly onChanged: () => void
}

/** Sets the roles of a person. */
export function PersonRoles({ user, onChanged }: RolesProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('people.roles.change')}</Button>
      {isOpen ? <RolesDialog user={user} onChanged={onChanged} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

function RolesDialog({ user, onChanged, onClose }: RolesProps & { readonly onClose: () => void }) {
  const draft = useDraft(rolesOf(new Set(user.roles)))
  const [isForced, setForced] = useState(false)
  const set = useAction((roles: readonly Role[]) =>
    api.post('/v1/users/{id}/roles', {
      path: { id: user.id },
      query: { force: isForced },
      body: { roles },
    }),
  )
  const run = async (): Promise<void> => {
    if ((await set.run(draft.value))?.ok !== true) return
    toast({ text: t('people.roles.done') })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('people.roles.title', { name: user.name })}
      confirm={t('people.roles.change')}
      isBusy={set.isBusy}
      isDisabled={draft.value.length === 0 || draft.isStale}
      error={set.error}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      <p>{t('people.roles.what')}</p>
      <StaleNotice
        draft={draft}
        text={rolesText}
        told={t('people.roles.stale', { name: user.name })}
        onChosen={set.clear}
      />
      <RoleBoxes chosen={new Set(draft.value)} onChange={(chosen) => draft.set(rolesOf(chosen))} />
      {set.error?.code === 'last_admin' ? (
        <Checkbox label={t('people.lastAdmin')} isChecked={isForced} onChange={setForced} />
      ) : null}
    </ConfirmDialog>
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
