import {
  type AnswerOf,
  addStyle,
  type Column,
  DataTable,
  Lamp,
  Notice,
  Said,
  type Tone,
  t,
  word,
} from '@steeple/console/kit'
import css from './planned.css'

addStyle(css)

/** What a change of the core's configuration does. */
type CorePlan = AnswerOf<'GET', '/v1/core/plan'>
type Daemon = CorePlan['daemons'][number]
type File = CorePlan['files'][number]

const TONES: Readonly<Record<string, Tone>> = { in_sync: 'ok', changes: 'warn', unknown: 'bad' }

/** A plan in words; `words` begin the names of the texts that its state has. */
export function Planned({
  plan,
  isLab = false,
  words = 'core.plan.state',
}: {
  readonly plan: CorePlan
  readonly isLab?: boolean
  readonly words?: 'core.plan.state' | 'core.whatIf.state'
}) {
  const { state, driver, held, notes, problems } = plan
  // Files of others are their core's settings: nothing has to change while the box only looks at it.
  if (driver === 'none' && held.length > 0 && state === 'changes' && words === 'core.plan.state')
    return <Looking plan={plan} />
  return (
    <>
      <p>
        <Lamp tone={TONES[state] ?? 'none'} label={word(words, state)} />
      </p>
      <p>{t(driver === 'none' ? 'core.plan.driver.none' : 'core.plan.driver.container')}</p>
      {state === 'unconfigured' && isLab ? <p>{t('core.plan.lab')}</p> : null}
      {state === 'changes' ? <Consequences plan={plan} /> : null}
      {problems.length === 0 ? null : (
        <Notice tone="warn">
          <p>{t('core.plan.problems')}</p>
          <Lines lines={problems} />
        </Notice>
      )}
      <Lines lines={notes} />
      {state === 'unconfigured' ? null : <Compared plan={plan} />}
    </>
  )
}

/** What the box would write, for who wants to know. */
function Looking({ plan }: { readonly plan: CorePlan }) {
  return (
    <>
      <p>
        <Lamp tone="ok" label={t('core.plan.looking')} />
      </p>
      <p>{t('core.plan.looking.about')}</p>
      <details>
        <summary>{t('core.plan.looking.would')}</summary>
        <Lines lines={plan.problems} />
        <Lines lines={plan.notes} />
        <Compared plan={plan} />
      </details>
    </>
  )
}

/** Daemon by daemon and file by file: without a folder nothing has been compared. */
function Compared({ plan: { files, daemons, config_dir: folder } }: { readonly plan: CorePlan }) {
  const differing = files.filter(({ change }) => change !== 'same')
  return (
    <>
      <DataTable
        label={t('core.daemons')}
        rows={daemons}
        columns={daemonColumns()}
        keyOf={({ name }) => name}
      />
      <h3>{t('core.files', { count: differing.length })}</h3>
      <p class="fine">{t('core.files.folder', { folder })}</p>
      <ul class="plain">
        {differing.map((file) => (
          <li key={file.path}>
            <Changed file={file} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** Whom it costs the network, and for how long. */
function Consequences({
  plan: { subscribers_dropped: dropped, expected_s: seconds },
}: {
  readonly plan: CorePlan
}) {
  return (
    <Notice tone={dropped === 0 ? 'ok' : 'warn'}>
      <p>{dropsText(dropped)}</p>
      <p>
        {seconds === null
          ? t('core.plan.seconds.unknown')
          : t('core.plan.seconds', { count: Math.round(seconds) })}
      </p>
    </Notice>
  )
}

function Changed({ file: { path, change, diff, daemon } }: { readonly file: File }) {
  const title = (
    <>
      <code>{path}</code> {word('core.file', change)} {daemon === null ? '' : `(${daemon})`}
    </>
  )
  if (diff === undefined) return title
  return (
    <details>
      <summary>{title}</summary>
      <pre class="diff">
        {diff.split('\n').map((line, at) => (
          // Lines of a text: their place is what they are.
          <span key={at} class={lineClass(line)}>{`${line}\n`}</span>
        ))}
      </pre>
    </details>
  )
}

function lineClass(line: string): string {
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : ''
}

/** What somebody else says, line by line. */
export function Lines({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return null
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>
          <Said>{line}</Said>
        </li>
      ))}
    </ul>
  )
}

function daemonColumns(): readonly Column<Daemon>[] {
  return [
    { text: 'core.daemon', of: 'name' },
    { text: 'core.daemon.action', cell: ({ action }) => word('core.action', action) },
    {
      text: 'core.daemon.drops',
      isNumeric: true,
      cell: ({ subscribers_dropped: count }) => count ?? t('core.untold'),
    },
    { text: 'core.daemon.seconds', isNumeric: true, cell: ({ expected_s: seconds }) => `${seconds} s` },
    { text: 'core.daemon.reason', cell: ({ reason }) => <Said>{reason}</Said> },
    { text: 'core.daemon.container', isWide: true, of: 'container' },
  ]
}

/** How many phones lose the network; null: the core does not tell. */
export function dropsText(dropped: number | null): string {
  return dropped === null ? t('core.plan.drops.unknown') : t('core.plan.drops', { count: dropped })
}

/** Which daemons restart, and whom that costs the network. */
export function Restarts({
  daemons,
  dropped,
}: {
  readonly daemons: readonly string[]
  readonly dropped: number | null
}) {
  return (
    <>
      <p>{t('core.found.cost', { daemons: daemons.join(', ') })}</p>
      <p>{dropsText(dropped)}</p>
    </>
  )
}
