import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { t } from '../../text/index.ts'
import { Field } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { RoleBoxes, rolesOf } from './roles.tsx'
import { type Drawn, DrawnCredentials } from './shown-once.tsx'

/** Adds a person whose credentials are drawn here, for who stands beside you. */
export function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [drawn, setDrawn] = useState<Drawn | undefined>(undefined)
  if (drawn !== undefined) return <DrawnCredentials drawn={drawn} onClose={onClose} />
  return (
    <FormDialog
      title={t('people.add')}
      confirm={t('people.add')}
      what={t('people.add.what')}
      isDisabled={roles.size === 0}
      act={() => api.post('/v1/users', { body: { name, roles: rolesOf(roles) } })}
      onDone={setDrawn}
      onClose={onClose}
    >
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
    </FormDialog>
  )
}
