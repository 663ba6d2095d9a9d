import { useState } from 'preact/hooks'
import { may, type Role } from '../../api/session.ts'
import { t, word } from '../../text/index.ts'
import { Facts } from '../../ui/facts.tsx'
import { Checkbox, Field, Select, type SelectProps } from '../../ui/field.tsx'

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
  const toggle = (role: Role): void => {
    const next = new Set(chosen)
    if (!next.delete(role)) next.add(role)
    onChange(next)
  }
  return (
    <fieldset>
      <legend>{t('people.roles')}</legend>
      {ROLES.filter(may).map((role) => (
        <Checkbox
          key={role}
          label={t(`people.role.${role}`)}
          help={t(`people.role.${role}.help`)}
          isChecked={chosen.has(role)}
          onChange={() => toggle(role)}
        />
      ))}
    </fieldset>
  )
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

function presetOf(chosen: ReadonlySet<string>): string {
  const found = Object.entries(PRESETS).find(
    ([, roles]) => roles.length === chosen.size && roles.every((role) => chosen.has(role)),
  )
  return found?.[0] ?? ''
}

/** Roles that belong together, to be chosen at once. */
function Presets({ value, onChange }: Pick<SelectProps, 'value' | 'onChange'>) {
  const own = Object.keys(PRESETS).filter((name) => PRESETS[name]?.every(may))
  return (
    <Select
      text="people.preset"
      value={value}
      onChange={onChange}
      options={[
        ...own.map((name) => ({ value: name, label: word('people.preset', name) })),
        { value: '', label: t('people.preset.own') },
      ]}
    />
  )
}

/** What the chosen roles allow, and what not. */
function Allowed({ chosen }: { readonly chosen: ReadonlySet<string> }) {
  return (
    <Facts
      facts={Object.entries(DEEDS).map(([deed, roles]) => [
        word('people.deed', deed),
        t(roles.some((role) => chosen.has(role)) ? 'people.may.yes' : 'people.may.no'),
      ])}
    />
  )
}

/** Who somebody or something will be: a name and roles. */
export function NameAndRoles({
  help,
  pattern,
  name,
  onName,
  roles,
  onRoles,
}: {
  readonly help: string
  /** What the name may be, where not any line. */
  readonly pattern?: string
  readonly name: string
  readonly onName: (name: string) => void
  readonly roles: ReadonlySet<string>
  readonly onRoles: (roles: ReadonlySet<string>) => void
}) {
  // The roles one by one stand there for who chooses them one by one.
  const [preset, setPreset] = useState(() => presetOf(roles))
  const choose = (name: string): void => {
    setPreset(name)
    onRoles(new Set(PRESETS[name] ?? roles))
  }
  return (
    <>
      <Field
        name="name"
        label={t('people.name')}
        help={help}
        {...(pattern === undefined ? {} : { pattern })}
        value={name}
        onInput={onName}
        maxLength={64}
        isRequired
        isFocused
      />
      <Presets value={preset} onChange={choose} />
      {preset === '' ? <RoleBoxes chosen={roles} onChange={onRoles} /> : null}
      <Allowed chosen={roles} />
    </>
  )
}
