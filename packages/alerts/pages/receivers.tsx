import {
  type AnswerOf,
  api,
  Button,
  Checkbox,
  type ComponentChildren,
  choices,
  Dialog,
  EmptyState,
  ErrorNotice,
  Facts,
  Field,
  FormDialog,
  Lamp,
  Loaded,
  may,
  Notice,
  QrCode,
  type Query,
  type RequestOf,
  Said,
  Select,
  t,
  toast,
  useAction,
  useState,
  word,
} from '@steeple/console/kit'

/** Who is told, as the page shows it. */
export type Receivers = AnswerOf<'GET', '/v1/alerts/receivers'>
type Receiver = Receivers['receivers'][number]
type Tested = AnswerOf<'POST', '/v1/alerts/receivers/{name}/test'>
type Kind = RequestOf<'POST', '/v1/alerts/receivers'>['body']['kind']
type Values = Readonly<Record<string, string>>

interface FieldOf {
  readonly name: string
  readonly type?: 'password' | 'url' | 'number'
  readonly usual?: string
  readonly isOptional?: true
}

const SECRET = { type: 'password' } as const
/** What each kind asks for; easiest first. */
const FIELDS: Readonly<Record<string, readonly FieldOf[]>> = {
  ntfy: [
    { name: 'server', type: 'url', usual: 'https://ntfy.sh' },
    { name: 'topic' },
    { name: 'token', ...SECRET, isOptional: true },
  ],
  telegram: [{ name: 'token', ...SECRET }, { name: 'chat' }],
  mail: [
    { name: 'host' },
    { name: 'port', type: 'number', usual: '587' },
    { name: 'user', isOptional: true },
    { name: 'password', ...SECRET, isOptional: true },
    { name: 'from' },
    { name: 'to' },
  ],
  matrix: [{ name: 'server', type: 'url' }, { name: 'room' }, { name: 'token', ...SECRET }],
  slack: [{ name: 'url', ...SECRET }],
  webhook: [{ name: 'url', ...SECRET }, { name: 'secret' }],
}
const KINDS = Object.keys(FIELDS)
/** Told once, as the service has them. */
const SECRETS = ['token', 'topic', 'url', 'secret', 'password']
const SEVERITIES = ['info', 'warning', 'critical'] as const
type Severity = (typeof SEVERITIES)[number]
/** An address that leads people nowhere else. */
const LOOPBACK = /^(localhost|127\..*|\[::1\])$/

/** Who is told of alerts, what they have not taken, and a test of each. */
export function ReceiverList({ query }: { readonly query: Query<Receivers> }) {
  const [isAdding, setAdding] = useState(false)
  const [added, setAdded] = useState<Receiver>()
  const add = may('admin') ? (
    <div class="toolbar">
      <Button icon="plus" kind="primary" onClick={() => setAdding(true)}>
        {t('alerts.receiver.add')}
      </Button>
    </div>
  ) : null
  return (
    <>
      <Loaded query={query}>
        {({ receivers }) => (
          <>
            {/* It stays when the first receiver comes: the focus goes back to it. */}
            {add}
            {receivers.length === 0 ? (
              <EmptyState title={t('alerts.receivers.none')}>{t('alerts.receivers.none.help')}</EmptyState>
            ) : (
              <div class="cards">
                {receivers.map((receiver) => (
                  <ReceiverCard key={receiver.name} receiver={receiver} onChanged={query.reload} />
                ))}
              </div>
            )}
            {isAdding ? (
              <ReceiverDialog
                taken={receivers.map(({ name }) => name)}
                onClose={() => setAdding(false)}
                onDone={(receiver) => {
                  setAdding(false)
                  setAdded(receiver)
                  query.reload()
                }}
              />
            ) : null}
          </>
        )}
      </Loaded>
      {added === undefined ? null : (
        <Dialog
          isOpen
          title={t('alerts.receiver.added', { name: added.name })}
          onClose={() => setAdded(undefined)}
        >
          <p>{t('alerts.receiver.added.help')}</p>
          <TestButton kind="primary" name={added.name} parked={0} onTested={query.reload}>
            <Button onClick={() => setAdded(undefined)}>{t('ui.close')}</Button>
          </TestButton>
        </Dialog>
      )}
    </>
  )
}

function ReceiverCard({
  receiver,
  onChanged,
}: {
  readonly receiver: Receiver
  readonly onChanged: () => void
}) {
  const { name, kind, source, server, waiting, parked, last_error } = receiver
  const [open, setOpen] = useState<'change' | 'remove'>()
  const isWell = waiting === 0 && parked === 0
  const close = (): void => setOpen(undefined)
  const done = (text: string): void => {
    toast({ text })
    close()
    onChanged()
  }
  return (
    <article class="card" aria-label={name}>
      <h2>{name}</h2>
      <p>
        <Lamp
          tone={isWell ? 'ok' : parked > 0 ? 'bad' : 'warn'}
          label={t(isWell ? 'alerts.receiver.well' : 'alerts.receiver.behind')}
        />
      </p>
      <Facts
        facts={[
          [t('alerts.receiver.kind'), `${word('alerts.kind', kind)} (${server})`],
          [t('alerts.receiver.from'), word('alerts.receiver.from', receiver.min_severity)],
          [t('alerts.receiver.waiting'), waiting === 0 ? undefined : waiting],
          [t('alerts.receiver.parked'), parked === 0 ? undefined : parked],
          [t('alerts.receiver.why'), last_error === null ? undefined : <Said key="why">{last_error}</Said>],
        ]}
      />
      {source === 'file' ? <p class="fine">{t('alerts.receiver.ofFile')}</p> : null}
      {may('operator') ? (
        <TestButton name={name} parked={parked} onTested={onChanged}>
          {source === 'store' && may('admin') ? (
            <>
              <Button onClick={() => setOpen('remove')}>{t('alerts.receiver.remove')}</Button>
              <Button onClick={() => setOpen('change')}>{t('alerts.receiver.change')}</Button>
            </>
          ) : null}
        </TestButton>
      ) : null}
      {open === 'change' ? (
        <ReceiverDialog
          receiver={receiver}
          taken={[]}
          onClose={close}
          onDone={() => done(t('alerts.receiver.changed', { name }))}
        />
      ) : null}
      {open === 'remove' ? (
        <FormDialog
          text="alerts.receiver.remove"
          values={{ name }}
          isDanger
          act={() => api.delete('/v1/alerts/receivers/{name}', { path: { name } })}
          onDone={() => done(t('alerts.receiver.removed', { name }))}
          onClose={close}
        />
      ) : null}
    </article>
  )
}

/** Sends a test message and says what the receiver answered; `children` are buttons beside it. */
function TestButton({
  kind = 'plain',
  name,
  parked,
  onTested,
  children,
}: {
  readonly kind?: 'plain' | 'primary'
  readonly name: string
  readonly parked: number
  readonly onTested: () => void
  readonly children: ComponentChildren
}) {
  const [tested, setTested] = useState<Tested>()
  const test = useAction((resend: boolean) =>
    api.post('/v1/alerts/receivers/{name}/test', { path: { name }, body: { resend }, timeoutMs: 60_000 }),
  )
  const run = async (resend: boolean): Promise<void> => {
    setTested(undefined)
    const result = await test.run(resend)
    if (result?.ok === true) setTested(result.data)
    onTested()
  }
  return (
    <>
      <ErrorNotice error={test.error} />
      {tested === undefined ? null : <Outcome tested={tested} />}
      <div class="actions">
        {children}
        {parked === 0 ? null : (
          <Button isBusy={test.isBusy} onClick={() => void run(true)}>
            {t('alerts.receiver.resend')}
          </Button>
        )}
        <Button kind={kind} isBusy={test.isBusy} onClick={() => void run(false)}>
          {t('alerts.receiver.test')}
        </Button>
      </div>
    </>
  )
}

function Outcome({ tested }: { readonly tested: Tested }) {
  return (
    <Notice tone={tested.delivered ? 'ok' : 'bad'}>
      <p>
        {tested.delivered ? t('alerts.test.taken') : t('alerts.test.refused', { why: tested.error ?? '' })}
      </p>
      {tested.resent === 0 ? null : <p>{t('alerts.test.resent', { count: tested.resent })}</p>}
    </Notice>
  )
}

/** A name that nobody has: that of the kind, with a number where it has to be. */
function freeName(kind: string, taken: readonly string[]): string {
  const names = [kind, ...Array.from({ length: taken.length }, (_, index) => `${kind}-${index + 2}`)]
  return names.find((name) => !taken.includes(name)) ?? ''
}

/** As "echo whsec_$(openssl rand -base64 32)" makes one. */
function drawnSecret(): string {
  const octets = crypto.getRandomValues(new Uint8Array(32))
  return `whsec_${btoa(String.fromCharCode(...octets))}`
}

/** A topic that nobody guesses: who knows it reads the alerts. */
function drawnTopic(): string {
  const octets = crypto.getRandomValues(new Uint8Array(10))
  return `steeple-${[...octets].map((octet) => (octet % 36).toString(36)).join('')}`
}

function usualOf(kind: string): Values {
  const fields = (FIELDS[kind] ?? []).map(({ name, usual = '' }) => [name, usual] as const)
  return {
    ...Object.fromEntries(fields),
    ...(kind === 'webhook' && { secret: drawnSecret() }),
    ...(kind === 'ntfy' && { topic: drawnTopic() }),
  }
}

function settingsOf({ settings }: Receiver): Values {
  return Object.fromEntries(Object.entries(settings ?? {}).map(([name, value]) => [name, String(value)]))
}

/** What the form says, as the API takes it: nothing of what was left empty. */
function bodyOf(kind: string, values: Values): object {
  return Object.fromEntries(
    (FIELDS[kind] ?? []).flatMap(({ name, type }) => {
      const value = values[name]?.trim() ?? ''
      return value === '' ? [] : [[name, type === 'number' ? Number(value) : value]]
    }),
  )
}

/** Adds a receiver, or changes one: what is secret of it stays where its field is left empty. */
function ReceiverDialog({
  receiver,
  taken,
  onClose,
  onDone,
}: {
  readonly receiver?: Receiver
  readonly taken: readonly string[]
  readonly onClose: () => void
  readonly onDone: (receiver: Receiver) => void
}) {
  const [kind, setKind] = useState(receiver?.kind ?? KINDS[0] ?? '')
  const [name, setName] = useState(freeName(kind, taken))
  const [values, setValues] = useState<Values>(receiver === undefined ? usualOf(kind) : settingsOf(receiver))
  const [severity, setSeverity] = useState(receiver?.min_severity ?? 'warning')
  const [isResolved, setResolved] = useState(receiver?.resolved ?? true)
  const [isPrivate, setPrivate] = useState(receiver?.allow_private ?? false)
  const choose = (chosen: string): void => {
    setKind(chosen)
    setName(freeName(chosen, taken))
    setValues(usualOf(chosen))
  }
  const common = {
    // The service knows no other.
    min_severity: severity as Severity,
    resolved: isResolved,
    allow_private: isPrivate,
    ...(LOOPBACK.test(location.hostname) ? {} : { link: location.origin }),
  }
  const act = () =>
    receiver === undefined
      ? api.post('/v1/alerts/receivers', {
          body: { name, kind: kind as Kind, ...common, ...bodyOf(kind, values) },
        })
      : api.put('/v1/alerts/receivers/{name}', {
          path: { name: receiver.name },
          body: { ...settingsKept(receiver), ...common, ...bodyOf(kind, values) },
        })
  return (
    <FormDialog
      title={receiver === undefined ? t('alerts.receiver.add') : receiver.name}
      confirm={t(receiver === undefined ? 'alerts.receiver.add' : 'alerts.receiver.save')}
      what={t(`alerts.kind.${kind}.help`)}
      act={act}
      onDone={onDone}
      onClose={onClose}
    >
      {receiver === undefined ? (
        <>
          <Select
            text="alerts.receiver.kind"
            value={kind}
            onChange={choose}
            options={choices('alerts.kind', KINDS)}
          />
          <Field
            name="name"
            text="alerts.receiver.name"
            value={name}
            onInput={setName}
            pattern="[a-z0-9][a-z0-9._\-]{0,63}"
            isRequired
          />
        </>
      ) : null}
      {(FIELDS[kind] ?? []).map((field) => (
        <KindField
          key={`${kind}.${field.name}`}
          field={field}
          isKept={receiver !== undefined && SECRETS.includes(field.name)}
          value={values[field.name] ?? ''}
          onInput={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      {kind === 'ntfy' ? <Subscribe server={values.server ?? ''} topic={values.topic ?? ''} /> : null}
      <Select
        text="alerts.receiver.from"
        value={severity}
        onChange={setSeverity}
        options={choices('alerts.receiver.from', SEVERITIES)}
      />
      <Checkbox text="alerts.receiver.resolved" isChecked={isResolved} onChange={setResolved} />
      <Checkbox text="alerts.receiver.private" isChecked={isPrivate} onChange={setPrivate} />
    </FormDialog>
  )
}

/** How a phone takes the messages of a topic: its address as a code to scan. */
function Subscribe({ server, topic }: { readonly server: string; readonly topic: string }) {
  if (topic === '' || !/^https?:\/\/[^/?#@\s]+\/?$/.test(server)) return null
  const address = `${server.replace(/\/$/, '')}/${topic}`
  return (
    <Notice>
      <p>{t('alerts.ntfy.subscribe')}</p>
      <QrCode text={address} what={address} />
      <code>{address}</code>
    </Notice>
  )
}

/** What it was given elsewhere, and what this form does not ask for. */
function settingsKept({ kind, settings }: Receiver): object {
  const asked = (FIELDS[kind] ?? []).map(({ name }) => name)
  return Object.fromEntries(Object.entries(settings ?? {}).filter(([name]) => !asked.includes(name)))
}

function KindField({
  field: { name, type, isOptional },
  isKept,
  value,
  onInput,
}: {
  readonly field: FieldOf
  /** A secret that the service has, which stays where nothing is entered. */
  readonly isKept: boolean
  readonly value: string
  readonly onInput: (value: string) => void
}) {
  const label = t(`alerts.field.${name}`)
  return (
    <Field
      name={name}
      label={isOptional === true ? t('alerts.field.optional', { label }) : label}
      {...(type !== undefined && { type })}
      help={isKept ? t('alerts.field.kept') : t(`alerts.field.${name}.help`)}
      value={value}
      onInput={onInput}
      isRequired={isOptional !== true && !isKept}
      autocomplete={type === 'password' ? 'new-password' : 'off'}
    />
  )
}
