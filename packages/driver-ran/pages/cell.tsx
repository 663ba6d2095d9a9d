import {
  type AnswerOf,
  api,
  Button,
  ByHand,
  Card,
  Checkbox,
  choices,
  Dialog,
  ErrorNotice,
  Facts,
  Field,
  Form,
  fieldsOf,
  Notice,
  type Planned,
  Select,
  t,
  toast,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'
import {
  type CellTyped,
  cellProfile,
  cellSettings,
  type InForce,
  KINDS,
  kindInForce,
  SWITCH_FIELDS,
  type SwitchField,
  stationKey,
  typedCell,
  typedFields,
} from './cell-form.ts'

type Profiles = AnswerOf<'GET', '/v1/tx/profiles'>['profiles']
const CHANGES = { on: ['settings.*', 'tx.*', 'plugin.*'] }

/** A cell of a vendor, which the box switches and does not run: what it is set to, and the form that sets it up. */
export function Panel() {
  const settings = useQuery('/v1/settings', {}, CHANGES)
  const profiles = useQuery('/v1/tx/profiles', {}, CHANGES)
  const [isOpen, setOpen] = useState(false)
  const error = settings.error ?? profiles.error
  if (error !== undefined) return <ErrorNotice error={error} onRetry={settings.reload} />
  if (settings.data === undefined || profiles.data === undefined) return null
  const values = new Map(settings.data.settings.map(({ key, value }) => [key, value]))
  const inForce: InForce = (key) => values.get(key)
  const isUsed = inForce('ran.program') === 'external'
  const kind = kindInForce(inForce)
  return (
    <Card title={t('radio.cell')}>
      <p>{t('radio.cell.help')}</p>
      {isUsed && kind !== undefined ? (
        <Facts
          facts={[
            [t('radio.cell.kind'), word('radio.cell.kind', kind)],
            [
              t('radio.cell.address'),
              String(inForce('ran.external.address') || t('radio.cell.address.none')),
            ],
          ]}
        />
      ) : null}
      <Button onClick={() => setOpen(true)}>{t(isUsed ? 'radio.cell.change' : 'radio.cell.add')}</Button>
      {isOpen ? (
        <CellDialog
          inForce={inForce}
          etag={settings.etag}
          profiles={profiles.data.profiles}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Card>
  )
}

interface DialogProps {
  readonly inForce: InForce
  readonly etag: string | undefined
  readonly profiles: Profiles
  readonly onClose: () => void
}

function CellDialog({ inForce, etag, profiles, onClose }: DialogProps) {
  const technology = inForce('ran.external.technology')
  const [typed, setTyped] = useState<CellTyped>(() =>
    typedCell(
      inForce,
      profiles.find((one) => one.armed) ?? profiles.find((one) => one.technology === technology),
    ),
  )
  const [byHand, setByHand] = useState<Planned>()
  const { id } = typed.profile
  const isFixed = profiles.some((one) => one.id === id && (one.source === 'file' || one.armed))
  const act = async () => {
    const body = { settings: cellSettings(typed, inForce) }
    const planned = await api.put('/v1/settings', { query: { dry_run: true }, body, ifMatch: etag })
    if (!planned.ok) return planned
    const profile = isFixed
      ? undefined
      : await api.put('/v1/tx/profiles/{id}', { path: { id }, body: cellProfile(typed) })
    if (profile?.ok === false) return profile
    if (planned.data.writable && planned.data.fixed.length === 0)
      return await api.put('/v1/settings', { body, ifMatch: etag })
    setByHand(planned.data)
    return undefined
  }
  return (
    <Dialog
      isOpen
      title={t(`radio.cell.${inForce('ran.program') === 'external' ? 'change' : 'add'}`)}
      onClose={onClose}
    >
      <Form
        submit={t('radio.cell.save')}
        act={act}
        onDone={() => {
          toast({ text: t('radio.cell.saved') })
          onClose()
        }}
        onCancel={onClose}
      >
        <p>{t('radio.cell.what')}</p>
        <CellFields typed={typed} onChange={setTyped} />
        <SwitchFields typed={typed} inForce={inForce} onChange={setTyped} />
        <FallbackFields typed={typed} onChange={setTyped} />
        <ProfileFields typed={typed} isFixed={isFixed} onChange={setTyped} />
        {byHand === undefined ? null : <ByHand planned={byHand} />}
      </Form>
    </Dialog>
  )
}

interface FieldsProps {
  readonly typed: CellTyped
  readonly onChange: (change: (typed: CellTyped) => CellTyped) => void
}

function CellFields({ typed, onChange }: FieldsProps) {
  const { of } = fieldsOf(typed.cell, (change) => onChange((now) => ({ ...now, cell: change(now.cell) })))
  return (
    <div class="pair">
      <Select
        {...of('technology')}
        text="radio.cell.technology"
        options={choices('radio.technology', ['lte', 'nr'])}
      />
      <Field
        {...of('id')}
        name={`settings/${stationKey(typed.cell.technology)}`}
        text="radio.cell.id"
        inputMode="numeric"
        pattern="[0-9]+"
        isRequired
      />
      <Field {...of('address')} text="radio.cell.address" />
    </div>
  )
}

function SwitchFields({ typed, inForce, onChange }: FieldsProps & { readonly inForce: InForce }) {
  const { kind } = typed
  const { of } = fieldsOf(typed.fields, (change) =>
    onChange((now) => ({ ...now, fields: change(now.fields) })),
  )
  return (
    <fieldset>
      <legend>{t('radio.cell.kind')}</legend>
      <Select
        text="radio.cell.kind.of"
        value={kind}
        onChange={(value) => {
          const next = KINDS.find((one) => one === value)
          if (next !== undefined)
            onChange((now) => ({ ...now, kind: next, fields: typedFields(next, inForce) }))
        }}
        options={choices('radio.cell.kind', KINDS)}
      />
      <p class="fine">{t(`radio.cell.kind.${kind}.help`)}</p>
      <div class="pair">
        {SWITCH_FIELDS[kind].map((field) => (
          <SwitchLine key={`${kind} ${field.key}`} field={field} {...of(field.key)} />
        ))}
      </div>
    </fieldset>
  )
}

function SwitchLine({
  field: { key, as, isRequired = false },
  value,
  onInput,
}: {
  readonly field: SwitchField
  readonly value: string
  readonly onInput: (value: string) => void
}) {
  const label = t(`radio.cell.f.${key}`)
  if (as === 'method')
    return (
      <Select
        {...{ label, value, onChange: onInput }}
        options={['GET', 'POST', 'PUT'].map((one) => ({ value: one, label: one }))}
      />
    )
  const help = as === 'argv' || as === 'file' ? { help: t(`radio.cell.as.${as}`) } : {}
  return (
    <Field {...{ label, value, onInput, isRequired, ...help }} {...(as === 'argv' ? { lines: 3 } : {})} />
  )
}

function FallbackFields({ typed, onChange }: FieldsProps) {
  const { of } = fieldsOf(typed.cell, (change) => onChange((now) => ({ ...now, cell: change(now.cell) })))
  return (
    <fieldset>
      <legend>{t('radio.cell.fallback')}</legend>
      <Field {...of('refresh')} text="radio.cell.refresh" placeholder="30s" />
      <Checkbox
        text="radio.cell.staysOn"
        isChecked={typed.staysOn}
        onChange={(staysOn) => onChange((now) => ({ ...now, staysOn }))}
      />
    </fieldset>
  )
}

function ProfileFields({ typed, isFixed, onChange }: FieldsProps & { readonly isFixed: boolean }) {
  const { of } = fieldsOf(typed.profile, (change) =>
    onChange((now) => ({ ...now, profile: change(now.profile) })),
  )
  const line = (key: keyof CellTyped['profile'], isRequired = true) => (
    <Field
      {...of(key)}
      text={`radio.cell.p.${key}`}
      {...{ isRequired, isDisabled: isFixed && key !== 'id' }}
      {...(key === 'id' ? { pattern: '[a-z0-9][a-z0-9_\\-]*', maxLength: 64 } : {})}
    />
  )
  return (
    <fieldset>
      <legend>{t('radio.cell.profile')}</legend>
      <p class="fine">{t('radio.cell.profile.help')}</p>
      {isFixed ? (
        <Notice tone="warn">
          <p>{t('radio.cell.profile.fixed')}</p>
        </Notice>
      ) : null}
      <div class="pair">
        {line('id')}
        {line('channel')}
        {line('band', false)}
        {line('width')}
        {line('power', false)}
      </div>
    </fieldset>
  )
}
