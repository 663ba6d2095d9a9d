import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { RoleBoxes, rolesOf } from './roles.tsx'
import { Secret, ShownOnce } from './shown-once.tsx'

const LENGTHS = ['24h', '7d', '30d', '90d', '365d', ''] as const

/** Makes a token for a program; what it is, is shown once. */
export function TokenDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [length, setLength] = useState<string>('90d')
  const [token, setToken] = useState<string | undefined>(undefined)
  const make = useAction(() =>
    api.post('/v1/tokens', {
      body: { name, roles: rolesOf(roles), ...(length === '' ? {} : { expires_in: length }) },
    }),
  )
  const run = async (): Promise<void> => {
    const result = await make.run()
    if (result?.ok === true) setToken(result.data.token)
  }
  if (token !== undefined)
    return (
      <ShownOnce title={t('people.token.made', { name })} onClose={onClose}>
        <Secret label={t('people.token')} text={token} />
        <p>{t('people.token.use')}</p>
      </ShownOnce>
    )
  return (
    <ConfirmDialog
      isOpen
      title={t('people.token.make')}
      confirm={t('people.token.make')}
      isBusy={make.isBusy}
      isDisabled={roles.size === 0}
      error={make.error}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      <p>{t('people.token.what')}</p>
      <div class="stack">
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
      </div>
    </ConfirmDialog>
  )
}
