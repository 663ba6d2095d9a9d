import type { ItemOf, Result } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { may, type Role } from '../../api/session.ts'
import { choices, t, word } from '../../text/index.ts'
import { FormDialog, type FormDialogProps } from '../../ui/dialog.tsx'
import { Checkboxes, Field, Select } from '../../ui/field.tsx'
import { Facts } from '../../ui/parts.tsx'

/** What the service takes as the name of a person, which is part of certificates and addresses. */
export const PERSON_NAME = '[A-Za-z0-9]([A-Za-z0-9._@\\-]*[A-Za-z0-9])?'

const ROLES: readonly Role[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']

export function rolesText(roles: readonly string[]): string {
  return roles.length === 0
    ? t('people.role.none')
    : roles.map((role) => word('people.role', role)).join(', ')
}

/** The roles of a set, in their order. */
export function rolesOf(chosen: ReadonlySet<string>): readonly Role[] {
  return ROLES.filter((role) => chosen.has(role))
}

/** Roles to choose: those that who is signed in has, since nobody can give others. */
export function RoleBoxes({
  chosen,
  onChange,
}: {
  readonly chosen: ReadonlySet<string>
  readonly onChange: (chosen: ReadonlySet<string>) => void
}) {
  const options = ROLES.filter(may).map((value) => ({
    ...{ value, label: t(`people.role.${value}`), help: t(`people.role.${value}.help`) },
  }))
  return <Checkboxes legend={t('people.roles')} options={options} chosen={chosen} onChange={onChange} />
}

/** What people do most, and the roles that it takes together. */
const PRESETS: Readonly<Record<string, readonly Role[]>> = {
  viewer: ['viewer'],
  helper: ['operator', 'sim:issuer'],
  technician: ['operator', 'sim:admin'],
  admin: ['admin'],
}
/** What somebody may do, and each role that allows it. Contract §1. */
const DEEDS = {
  see: ROLES,
  issue: ['sim:issuer', 'sim:admin', 'admin'],
  suspend: ['operator', 'admin'],
  rules: ['operator', 'admin'],
  stop: ['operator', 'admin'],
  audit: ['operator', 'admin'],
  revoke: ['sim:admin', 'admin'],
  arm: ['sim:admin', 'admin'],
  people: ['admin'],
} as const satisfies Readonly<Record<string, readonly Role[]>>

/** Who somebody or something is to be, a name and roles, and what is made of them. */
export function NewcomerDialog<Data>({
  help,
  pattern,
  make,
  children,
  ...dialog
}: Pick<FormDialogProps<Data>, 'text' | 'onDone' | 'onClose'> & {
  readonly help: string
  /** What the name may be, where not any line. */
  readonly pattern?: string
  readonly make: (newcomer: Newcomer) => Promise<Result<Data>>
  readonly children?: ComponentChildren
}) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<ReadonlySet<string>>(new Set(PRESETS.viewer))
  // The roles one by one stand there for who chooses them one by one.
  const [preset, setPreset] = useState('viewer')
  const own = Object.keys(PRESETS).filter((one) => PRESETS[one]?.every(may))
  const choose = (chosen: string): void => {
    setPreset(chosen)
    setRoles(new Set(PRESETS[chosen] ?? roles))
  }
  return (
    <FormDialog {...dialog} isDisabled={roles.size === 0} act={() => make({ name, roles: rolesOf(roles) })}>
      <Field
        name="name"
        label={t('people.name')}
        help={help}
        {...(pattern === undefined ? {} : { pattern })}
        value={name}
        onInput={setName}
        maxLength={64}
        isRequired
        isFocused
      />
      <Select
        text="people.preset"
        value={preset}
        onChange={choose}
        options={[...choices('people.preset', own), { value: '', label: t('people.preset.own') }]}
      />
      {preset === '' ? <RoleBoxes chosen={roles} onChange={setRoles} /> : null}
      <Facts
        facts={Object.entries(DEEDS).map(([deed, allowing]) => [
          word('people.deed', deed),
          t(allowing.some((role) => roles.has(role)) ? 'people.may.yes' : 'people.may.no'),
        ])}
      />
      {children}
    </FormDialog>
  )
}

interface Newcomer {
  readonly name: string
  readonly roles: readonly Role[]
}

/** A person who may log in. */
export type User = ItemOf<'/v1/users'>

/** Fewer recovery codes than that are soon none. */
export const FEW_CODES = 3
