import { may, type Role } from '../../api/session.ts'
import { t, word } from '../../text/index.ts'
import { Checkbox, Field } from '../../ui/field.tsx'

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

/** Who somebody or something will be: a name and roles. */
export function NameAndRoles({
  help,
  name,
  onName,
  roles,
  onRoles,
}: {
  readonly help: string
  readonly name: string
  readonly onName: (name: string) => void
  readonly roles: ReadonlySet<string>
  readonly onRoles: (roles: ReadonlySet<string>) => void
}) {
  return (
    <>
      <Field
        label={t('people.name')}
        help={help}
        value={name}
        onInput={onName}
        maxLength={64}
        isRequired
        isFocused
      />
      <RoleBoxes chosen={roles} onChange={onRoles} />
    </>
  )
}
