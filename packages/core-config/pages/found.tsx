import {
  type AnswerOf,
  api,
  Checkbox,
  type Column,
  Copy,
  DataTable,
  Form,
  may,
  Notice,
  t,
  useState,
  word,
} from '@steeple/console/kit'
import { Lines } from './planned.tsx'

type Found = AnswerOf<'GET', '/v1/core/found'>
type Daemon = Found['daemons'][number]
type File = Found['files'][number]
/** One that the box writes as it would, although the file has another. */
interface Line {
  readonly path: string
  readonly key: string
}

/** A core that somebody else has set up on this machine: what is there, and how the box would drive it. */
export function Panel() {
  const [found, setFound] = useState<Found | undefined>(undefined)
  return (
    <section class="card" aria-labelledby="core-found">
      <h2 id="core-found">{t('core.found')}</h2>
      <p>{t('core.found.about')}</p>
      <Form act={() => api.get('/v1/core/found')} submit={t('core.found.look')} onDone={setFound} />
      {found === undefined ? null : <Shown found={found} onDone={() => setFound(undefined)} />}
    </section>
  )
}

function Shown({ found, onDone }: { readonly found: Found; readonly onDone: () => void }) {
  const { unseen, problems, notes } = found
  return (
    <>
      {unseen.length === 0 ? null : (
        <>
          <p>{t('core.found.unseen')}</p>
          <Lines lines={unseen} />
        </>
      )}
      {found.core === null ? <p>{t('core.found.none')}</p> : <Core found={found} />}
      {problems.length === 0 ? null : (
        <Notice tone="warn">
          <Lines lines={problems} />
        </Notice>
      )}
      <Lines lines={notes} />
      {found.core === null ? null : <TakeIn found={found} onDone={onDone} />}
    </>
  )
}

function Core({ found: { daemons, network, lines, apns } }: { readonly found: Found }) {
  return (
    <>
      <DataTable
        label={t('core.daemons')}
        rows={daemons}
        columns={columns()}
        keyOf={({ kind, name, role }) => `${kind} ${name} ${role}`}
      />
      {network === null ? null : <Network network={network} />}
      {lines === '' ? (
        <p>{t('core.found.fits')}</p>
      ) : (
        <>
          <p>{t('core.found.settings')}</p>
          <pre>{lines}</pre>
          <p>
            <Copy text={lines} />
          </p>
        </>
      )}
      {apns === null ? null : <p>{t('core.found.apns', { apns: apns.join(', ') })}</p>}
    </>
  )
}

function Network({ network }: { readonly network: NonNullable<Found['network']> }) {
  const { plmn, tacs, pools, slices, dns } = network
  return (
    <dl class="facts">
      <dt>{t('core.plmn')}</dt>
      <dd>{plmn ?? t('core.untold')}</dd>
      <dt>{t('core.tac')}</dt>
      <dd>{tacs.join(', ')}</dd>
      <dt>{t('core.found.pools')}</dt>
      <dd>{pools.map(({ apn, subnet }) => (apn === null ? subnet : `${apn} ${subnet}`)).join(', ')}</dd>
      <dt>{t('core.found.slices')}</dt>
      <dd>{slices.map(({ sst, sd }) => (sd === undefined ? sst : `${sst}-${sd}`)).join(', ')}</dd>
      <dt>{t('core.found.dns')}</dt>
      <dd>{dns.join(', ')}</dd>
    </dl>
  )
}

function columns(): readonly Column<Daemon>[] {
  return [
    { key: 'role', title: t('core.daemon'), cell: ({ role }) => role },
    {
      key: 'kind',
      title: t('core.found.runs'),
      cell: ({ kind, name }) => `${word('core.found.kind', kind)} ${name}`,
    },
    { key: 'version', title: t('core.found.version'), cell: ({ version }) => version ?? t('core.untold') },
    { key: 'file', title: t('core.found.file'), isWide: true, cell: ({ config_file: file }) => file ?? '–' },
  ]
}

/** All lines stay but those that are ticked. */
function TakeIn({ found, onDone }: { readonly found: Found; readonly onDone: () => void }) {
  const [ours, setOurs] = useState<readonly Line[]>([])
  const isReady = found.lines === '' && may('admin')
  const turn = (line: Line, isOurs: boolean): void =>
    setOurs([
      ...ours.filter(({ path, key }) => path !== line.path || key !== line.key),
      ...(isOurs ? [line] : []),
    ])
  const lines = (
    <>
      <p>{t('core.found.lines')}</p>
      <ul class="plain">
        {found.files.map((file) => (
          <li key={file.path}>
            <Differing file={file} ours={ours} onTurn={isReady ? turn : undefined} />
          </li>
        ))}
      </ul>
    </>
  )
  if (!isReady) return lines
  return (
    <Form
      act={() => api.post('/v1/core/adopt', { body: { ours: [...ours] } })}
      submit={t('core.found.adopt')}
      done={t('core.found.done')}
      onDone={onDone}
    >
      {lines}
    </Form>
  )
}

function Differing({
  file: { path, daemon, differences, kept, subscribers_dropped: dropped },
  ours,
  onTurn,
}: {
  readonly file: File
  readonly ours: readonly Line[]
  readonly onTurn: ((line: Line, isOurs: boolean) => void) | undefined
}) {
  return (
    <details>
      <summary>
        <code>{path}</code> {daemon ?? ''} ({differences.length})
      </summary>
      {kept.length === 0 ? null : <p>{t('core.found.kept', { keys: kept.join(', ') })}</p>}
      {differences.length === 0 ? null : (
        <p>{dropped === null ? t('core.plan.drops.unknown') : t('core.plan.drops', { count: dropped })}</p>
      )}
      <ul class="plain">
        {differences.map(({ key, found, written }) => {
          const whole = `${key}: ${found ?? '–'} → ${written}`
          const isLong = whole.length > MOST_IN_LINE
          const label = isLong ? `${key}: ${shortened(found ?? '–')} → ${shortened(written)}` : whole
          return (
            <li key={key}>
              {onTurn === undefined ? (
                label
              ) : (
                <Checkbox
                  label={label}
                  isChecked={ours.some((line) => line.path === path && line.key === key)}
                  onChange={(isOurs) => onTurn({ path, key }, isOurs)}
                />
              )}
              {isLong ? (
                <details>
                  <summary>{t('core.found.whole')}</summary>
                  <pre>{`- ${found ?? '–'}\n+ ${written}`}</pre>
                </details>
              ) : null}
            </li>
          )
        })}
      </ul>
    </details>
  )
}

/** Longer ones are folded, and stand beneath as a whole. */
const MOST_IN_LINE = 160

function shortened(value: string): string {
  return value.length > MOST_IN_LINE / 2 ? `${value.slice(0, MOST_IN_LINE / 2)}…` : value
}
