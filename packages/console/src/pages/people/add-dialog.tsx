import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { RoleBoxes, rolesOf } from './roles.tsx'
import { type Drawn, DrawnCredentials } from './shown-once.tsx'

/** Adds a person whose credentials are drawn here, for who stands beside you. */
export function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [drawn, setDrawn] = useState<Drawn | undefined>(undefined)
  const add = useAction(() => api.post('/v1/users', { body: { name, roles: rolesOf(roles) } }))
  const run = async (): Promise<void> => {
    const result = await add.run()
    if (result?.ok === true) setDrawn(result.data)
  }
  if (drawn !== undefined) return <DrawnCredentials drawn={drawn} onClose={onClose} />
  return (
    <ConfirmDialog
      isOpen
      title={t('people.add')}
      confirm={t('people.add')}
      isBusy={add.isBusy}
      isDisabled={roles.size === 0}
      error={add.error}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      <p>{t('people.add.what')}</p>
      <div class="stack">
        <Field
          label={t('people.name')}
          help={t('people.name.help')}
          value={name}
          onInput={setName}
          maxLength={64}
          isRequired
          isFocused
        />
        <RoleBoxes chosen={roles} onChange={setRoles} />
      </div>
    </ConfirmDialog>
  )
}
