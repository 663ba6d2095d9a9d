import {
  type AnswerOf,
  api,
  Button,
  bytesText,
  Card,
  choices,
  download,
  ErrorNotice,
  Form,
  Loaded,
  Select,
  Time,
  t,
  useAction,
  useQuery,
  useTyped,
} from '@steeple/console/kit'

/** The log, and what those who help need, on the page of the system. */
export function Panel() {
  return (
    <>
      <LogLevel />
      <SupportBundle />
    </>
  )
}

type Levels = AnswerOf<'GET', '/v1/log-level'>

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
const LENGTHS = ['15m', '1h', '8h', '24h'] as const

/** What is logged, and more or less of it for a time. */
function LogLevel() {
  const levels = useQuery('/v1/log-level', {}, { on: ['log.*', 'plugin.*'], everyMs: 60_000 })
  return (
    <Card title={t('system.log')}>
      <Loaded query={levels}>
        {(known) => (
          <>
            <p>{t('system.log.now', { level: known.level })}</p>
            <Holds levels={known} onChanged={levels.reload} />
            <NewHold components={known.components} onChanged={levels.reload} />
          </>
        )}
      </Loaded>
    </Card>
  )
}

function Holds({ levels, onChanged }: { readonly levels: Levels; readonly onChanged: () => void }) {
  const end = useAction((component: string | null) =>
    api.put('/v1/log-level', { body: { ...(component === null ? {} : { component }), level: null } }),
  )
  if (levels.holds.length === 0) return null
  return (
    <>
      <ul>
        {levels.holds.map(({ component, level, until }) => (
          <li key={component}>
            {t('system.log.hold', { component: component ?? t('system.log.all'), level })} <Time at={until} />{' '}
            <Button kind="quiet" isBusy={end.isBusy} onClick={() => void end.run(component).then(onChanged)}>
              {t('system.log.end')}
            </Button>
          </li>
        ))}
      </ul>
      <ErrorNotice error={end.error} />
    </>
  )
}

function NewHold({
  components,
  onChanged,
}: {
  readonly components: readonly string[]
  readonly onChanged: () => void
}) {
  const { typed, of } = useTyped({ component: '', level: 'debug', for: '15m' })
  const { component, ...wanted } = typed
  const level = LEVELS.find((one) => one === wanted.level) ?? 'debug'
  const body = { ...(component === '' ? {} : { component }), level, for: wanted.for }
  return (
    <Form
      submit={t('system.log.set')}
      act={() => api.put('/v1/log-level', { body })}
      done={t('system.log.done')}
      onDone={onChanged}
    >
      <Select
        {...of('component')}
        text="system.log.component"
        options={[
          { value: '', label: t('system.log.all') },
          ...components.map((value) => ({ value, label: value })),
        ]}
      />
      <Select {...of('level')} text="system.log.level" options={choices('system.log.level', LEVELS)} />
      <Select {...of('for')} text="system.log.for" options={choices('system.log.for', LENGTHS)} />
    </Form>
  )
}

/** What those who help need to know, as a file. */
function SupportBundle() {
  const take = useAction(() => download('/v1/support/bundle', { timeoutMs: 120_000 }), {
    done: ({ name, bytes }) => t('system.file.taken', { name, size: bytesText(bytes) }),
  })
  return (
    <Card title={t('system.bundle')}>
      <p>{t('system.bundle.what')}</p>
      <p>
        <a href="/docs/how-to/support.html">{t('system.bundle.docs')}</a>
      </p>
      <ErrorNotice error={take.error} />
      <div class="actions">
        <Button isBusy={take.isBusy} onClick={() => void take.run()}>
          {t('system.bundle.take')}
        </Button>
      </div>
    </Card>
  )
}
