import {
  Button,
  ButtonLink,
  bytesText,
  Card,
  Checkbox,
  Copy,
  download,
  EmptyState,
  Facts,
  Field,
  Form,
  type ItemOf,
  ifPage,
  Loaded,
  Notice,
  Progress,
  Said,
  SetButton,
  Time,
  t,
  useQuery,
  useState,
  whoText,
} from '@steeple/console/kit'
import { drawPassphrase, LEAST_CHARACTERS, passphraseHeader, strengthOf } from './passphrase.ts'
import { Restore } from './restore.tsx'

/** Packing begins with a copy of the store. */
const LONGEST_MS = 600_000

/** Takes a backup and gives it to the person as a file, encrypted under a passphrase. */
function TakeBackup() {
  const [passphrase, setPassphrase] = useState('')
  const [again, setAgain] = useState('')
  const [isPlain, setPlain] = useState(false)
  const [drawn, setDrawn] = useState('')
  /** Octets that have come; undefined while none are asked for. */
  const [taken, setTaken] = useState<number>()
  const take = async () => {
    if (!isPlain && again !== passphrase) return undefined
    setTaken(0)
    const headers = passphraseHeader(isPlain ? '' : passphrase)
    const result = await download('/v1/backup', {
      ...{ headers, timeoutMs: LONGEST_MS, retries: 0, onProgress: setTaken },
    })
    setTaken(undefined)
    return result
  }
  const isOther = !isPlain && again !== '' && again !== passphrase
  const taking = taken === undefined ? undefined : t('backup.taking', { size: bytesText(taken) })
  const draw = (): void => {
    const text = drawPassphrase()
    setDrawn(text)
    setPassphrase(text)
    setAgain(text)
  }
  return (
    <Card title={t('backup.take')}>
      <p>{t('backup.take.what')}</p>
      <Form
        submit={taking ?? t('backup.take')}
        kind="primary"
        act={take}
        done={({ name, bytes }) => t('backup.taken', { name, size: bytesText(bytes) })}
      >
        {isPlain ? null : (
          <>
            <Field
              label={t('backup.passphrase')}
              help={t('backup.passphrase.help', { count: LEAST_CHARACTERS })}
              type="password"
              autocomplete="new-password"
              value={passphrase}
              onInput={setPassphrase}
              minLength={LEAST_CHARACTERS}
              isRequired
            />
            <Meter passphrase={passphrase} />
            <Field
              text="backup.passphrase.again"
              error={isOther ? t('backup.passphrase.other') : undefined}
              type="password"
              autocomplete="new-password"
              value={again}
              onInput={setAgain}
              isRequired
            />
            <div>
              <Button onClick={draw}>{t('backup.passphrase.draw')}</Button>
            </div>
            {drawn === '' ? null : (
              <Notice tone="warn">
                <p>{t('backup.passphrase.drawn')}</p>
                <code>{drawn}</code> <Copy text={drawn} />
              </Notice>
            )}
          </>
        )}
        <Checkbox text="backup.plain" isChecked={isPlain} onChange={setPlain} />
        {taking === undefined ? null : <Progress label={taking} />}
      </Form>
    </Card>
  )
}

function Meter({ passphrase }: { readonly passphrase: string }) {
  if (passphrase === '') return null
  const { share, word } = strengthOf(passphrase)
  const text = t(`backup.strength.${word}`)
  return (
    <div role="status">
      <meter
        aria-label={t('backup.strength')}
        min={0}
        max={1}
        low={0.5}
        high={0.9}
        optimum={1}
        value={share}
      />
      <span class="fine">{text}</span>
    </div>
  )
}

const SHOWN = 10

/** Backups on a schedule, and who has taken or restored one lately. */
function History() {
  const query = (action: string) => ({ query: { action, limit: SHOWN } })
  /** What was refused has touched nothing: the trail tells of it. */
  const done = (entries: readonly ItemOf<'/v1/audit'>[]) =>
    entries.filter(({ outcome }) => outcome !== 'denied')
  const taken = useQuery('/v1/audit', query('backup.create'), { on: ['backup.*'] })
  const restored = useQuery('/v1/audit', query('backup.restore'), { on: ['backup.*'] })
  return (
    <Card title={t('backup.history')}>
      <Schedule />
      <Loaded query={taken}>
        {({ entries }) =>
          done(entries).length === 0 ? (
            <EmptyState title={t('backup.history.none')}>{t('backup.history.none.help')}</EmptyState>
          ) : (
            <Entries label={t('backup.history.taken')} entries={done(entries)} />
          )
        }
      </Loaded>
      {restored.data === undefined || done(restored.data.entries).length === 0 ? null : (
        <Entries label={t('backup.history.restored')} entries={done(restored.data.entries)} />
      )}
      <p>
        <a href="/docs/how-to/backup.html">{t('backup.docs')}</a>
      </p>
    </Card>
  )
}

function Entries({
  label,
  entries,
}: {
  readonly label: string
  readonly entries: readonly ItemOf<'/v1/audit'>[]
}) {
  return (
    <>
      <h3>{label}</h3>
      <ul>
        {entries.map(({ seq, at, principal, outcome, detail }) => (
          <li key={seq}>
            <Time at={at} />, {whoText(principal)}
            {detail.encrypted === false ? ` · ${t('backup.history.plain')}` : ''}
            {outcome === 'ok' ? '' : ` · ${t('backup.history.failed')}`}
          </li>
        ))}
      </ul>
    </>
  )
}

function Schedule() {
  const settings = useQuery('/v1/settings', {}, { on: ['config.*', 'settings.*', 'plugin.*'] })
  const health = useQuery('/v1/health', {}, { on: ['health.*'], everyMs: 60_000 })
  const secrets = useQuery('/v1/plugins/{name}/secrets', { path: { name: 'backup' } }, { on: ['plugin.*'] })
  const isSealed = secrets.data?.secrets.some(({ key, from }) => key === 'passphrase' && from !== 'nowhere')
  const textOf = (key: string): string =>
    String(settings.data?.settings.find((one) => one.key === key)?.value ?? '')
  if (settings.data === undefined) return null
  const own = health.data?.components.find(({ name }) => name === 'backup')
  const every = textOf('backup.schedule')
  if (every === '')
    return (
      <Notice tone="warn">
        <p>{t('backup.schedule.none')}</p>
        <p>{t('backup.schedule.what')}</p>
        <div class="toolbar">
          <PassphraseLink isSealed={isSealed} />
          <SetButton settings={{ 'backup.schedule': '24h' }}>{t('backup.schedule.daily')}</SetButton>
        </div>
      </Notice>
    )
  return (
    <>
      <Facts
        facts={[
          [t('backup.schedule'), every],
          [
            t('backup.directory'),
            textOf('backup.directory') === '' ? (
              t('backup.directory.usual')
            ) : (
              <code key="directory">{textOf('backup.directory')}</code>
            ),
          ],
          [
            t('backup.passphrase.of'),
            t(isSealed === true ? 'backup.passphrase.any' : 'backup.passphrase.own'),
          ],
          [t('backup.keep'), textOf('backup.keep')],
        ]}
      />
      <PassphraseLink isSealed={isSealed} />
      {own === undefined ? null : (
        <Notice tone={own.status === 'ok' ? 'ok' : 'bad'}>
          <Said>{own.detail}</Said>
        </Notice>
      )}
    </>
  )
}

/** Where the passphrase of daily backups is set, until it is. */
function PassphraseLink({ isSealed }: { readonly isSealed: boolean | undefined }) {
  const href = ifPage('/plugins/backup')
  if (href === undefined || isSealed !== false) return null
  return <ButtonLink href={href}>{t('backup.schedule.passphrase')}</ButtonLink>
}

/** A backup is taken, looked into, and restored. */
export function Page() {
  return (
    <>
      <h1>{t('backup.title')}</h1>
      <div class="cards">
        <TakeBackup />
        <History />
      </div>
      <Restore />
    </>
  )
}
