import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { locale, t } from '../../text/index.ts'
import { Field, Select } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { RoleBoxes, rolesOf } from './roles.tsx'
import { Secret, ShownOnce } from './shown-once.tsx'

const LENGTHS = ['24h', '72h', '7d', '30d'] as const

/** Invites a person: a link that is good once, shown once. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(['viewer']))
  const [length, setLength] = useState<string>('72h')
  const [made, setMade] = useState<{ readonly token: string; readonly expires_at: string } | undefined>(
    undefined,
  )
  if (made !== undefined) return <Invitation name={name} made={made} onClose={onClose} />
  return (
    <FormDialog
      title={t('people.invite')}
      confirm={t('people.invite.make')}
      what={t('people.invite.what')}
      isDisabled={roles.size === 0}
      act={() =>
        api.post('/v1/users/invitations', { body: { name, roles: rolesOf(roles), expires_in: length } })
      }
      onDone={setMade}
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
      <Select
        label={t('people.invite.for')}
        value={length}
        onChange={setLength}
        options={LENGTHS.map((value) => ({ value, label: t(`people.for.${value}`) }))}
      />
    </FormDialog>
  )
}

function Invitation({
  name,
  made,
  onClose,
}: {
  readonly name: string
  readonly made: { readonly token: string; readonly expires_at: string }
  readonly onClose: () => void
}) {
  const link = `${location.origin}/v1/auth/invitation#${made.token}`
  return (
    <ShownOnce title={t('people.invited', { name })} onClose={onClose}>
      <p>{t('people.invited.what', { until: new Date(made.expires_at).toLocaleString(locale()) })}</p>
      <QrCode text={link} what={t('people.invited.link')} />
      <Secret label={t('people.invited.link')} text={link} />
    </ShownOnce>
  )
}
