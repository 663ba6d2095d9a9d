import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { t } from '../../text/index.ts'
import { Field, Select } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { RoleBoxes, rolesOf } from './roles.tsx'
import { Secret, ShownOnce } from './shown-once.tsx'

const LENGTHS = ['24h', '7d', '30d', '90d', '365d', ''] as const

/** Makes a token for a program; what it is, is shown once. */
export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [length, setLength] = useState<string>('90d')
  const [token, setToken] = useState<string | undefined>(undefined)
  if (token !== undefined)
    return (
      <ShownOnce title={t('people.token.made', { name })} onClose={onClose}>
        <Secret label={t('people.token')} text={token} />
        <p>{t('people.token.use')}</p>
      </ShownOnce>
    )
  return (
    <FormDialog
      title={t('people.token.make')}
      confirm={t('people.token.make')}
      what={t('people.token.what')}
      isDisabled={roles.size === 0}
      act={() =>
        api.post('/v1/tokens', {
          body: { name, roles: rolesOf(roles), ...(length === '' ? {} : { expires_in: length }) },
        })
      }
      onDone={(made) => setToken(made.token)}
      onClose={onClose}
    >
      <Field
        label={t('people.name')}
        help={t('people.token.name.help')}
        value={name}
        onInput={setName}
        maxLength={64}
        isRequired
        isFocused
      />
      <RoleBoxes chosen={roles} onChange={setRoles} />
      <Select
        label={t('people.token.for')}
        help={t('people.token.for.help')}
        value={length}
        onChange={setLength}
        options={LENGTHS.map((value) => ({
          value,
          label: value === '' ? t('people.token.forever') : t(`people.for.${value}`),
        }))}
      />
    </FormDialog>
  )
}
