import {
  type AnswerOf,
  api,
  ByHand,
  Checkbox,
  type Column,
  DataTable,
  DialogButton,
  Facts,
  Form,
  may,
  Notice,
  type Planned,
  t,
  useEffect,
  useRef,
  useState,
  word,
} from '@steeple/console/kit'
import { dropsText, Lines, Restarts } from './planned.tsx'

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
  const [found, setFound] = useState<Found>()
  const [said, setSaid] = useState<string>()
  const section = useRef<HTMLElement>(null)
  // Who comes for it need not look for the button.
  useEffect(() => {
    if (!new URLSearchParams(location.search).has('found')) return
    section.current?.scrollIntoView()
    section.current?.querySelector('button')?.click()
  }, [])
  return (
    <section class="card" aria-labelledby="core-found" ref={section}>
      <h2 id="core-found">{t('core.found')}</h2>
      <p>{t('core.found.about')}</p>
      <Form act={() => api.get('/v1/core/found')} submit={t('core.found.look')} onDone={setFound} />
      {said === undefined ? null : <Notice tone="ok">{said}</Notice>}
      {found === undefined ? null : (
        <Shown
          found={found}
          onDone={(words) => {
            setFound(undefined)
            setSaid(words)
          }}
        />
      )}
    </section>
  )
}

function Shown({ found, onDone }: { readonly found: Found; readonly onDone: (said: string) => void }) {
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
      {found.core === null ? null : <Ways found={found} onDone={onDone} />}
    </>
  )
}

function Core({ found }: { readonly found: Found }) {
  const { daemons, network, lines } = found
  return (
    <>
      <DataTable
        label={t('core.daemons')}
        rows={daemons}
        columns={columns()}
        keyOf={({ kind, name, role }) => `${kind} ${name} ${role}`}
      />
      {network === null ? null : <Network network={network} />}
      {lines === '' ? <p>{t('core.found.fits')}</p> : null}
      <Apns found={found} />
    </>
  )
}

/** What becomes of the APNs of the rules. */
function Apns({ found: { apns, apns_gone: gone } }: { readonly found: Found }) {
  if (apns === null) return null
  return (
    <>
      <p>{t('core.found.apns', { apns: apns.join(', ') })}</p>
      {gone.length === 0 ? null : <p>{t('core.found.apns.gone', { apns: gone.join(', ') })}</p>}
    </>
  )
}

function Network({ network }: { readonly network: NonNullable<Found['network']> }) {
  const { plmn, tacs, pools, slices, dns } = network
  return (
    <Facts
      facts={[
        [t('core.plmn'), plmn ?? t('core.untold')],
        [t('core.tac'), tacs.join(', ') || '–'],
        [
          t('core.found.pools'),
          pools.map(({ apn, subnet }) => (apn === null ? subnet : `${apn} ${subnet}`)).join(', ') || '–',
        ],
        [
          t('core.found.slices'),
          slices.map(({ sst, sd }) => (sd === undefined ? sst : `${sst}-${sd}`)).join(', ') || '–',
        ],
        [t('core.found.dns'), dns.join(', ') || '–'],
      ]}
    />
  )
}

function columns(): readonly Column<Daemon>[] {
  return [
    { text: 'core.daemon', of: 'role' },
    { text: 'core.found.runs', cell: ({ kind, name }) => `${word('core.found.kind', kind)} ${name}` },
    { text: 'core.found.version', cell: ({ version }) => version ?? t('core.untold') },
    { text: 'core.found.file', isWide: true, of: 'config_file' },
  ]
}

/** Listeners that base stations are set to: s1ap and ngap, and that of their user plane. */
const OF_RADIOS = /\b(s1ap|ngap|gtpu)\b.*address/i
/** Tracking areas, which base stations announce. */
const AREAS = /\b(tai|tac)\b/
/** What base stations must be set to as well; undefined of any other line. */
function radiosOf(key: string): string | undefined {
  if (OF_RADIOS.test(key)) return t('core.found.radios')
  return AREAS.test(key) ? t('core.found.areas') : undefined
}

/** The two ways in: to watch the core, and to drive it with all lines but those that are ticked. */
function Ways({ found, onDone }: { readonly found: Found; readonly onDone: (said: string) => void }) {
  const [ours, setOurs] = useState<readonly Line[]>([])
  const [byHand, setByHand] = useState<Planned>()
  const { settings, apns, drive } = found
  const isAdmin = may('admin')
  const turn = (line: Line, isOurs: boolean): void =>
    setOurs([
      ...ours.filter(({ path, key }) => path !== line.path || key !== line.key),
      ...(isOurs ? [line] : []),
    ])
  const isDriven = drive !== null && !('southbound.driver' in drive)
  const hand = byHand === undefined ? null : <Stopped planned={byHand} />
  return (
    <>
      <p>
        <strong>{t('core.found.nothing')}</strong>
      </p>
      <p>{t('core.found.lines')}</p>
      <ul class="plain">
        {found.files.map((file) => (
          <li key={file.path}>
            <Differing file={file} ours={ours} onTurn={isAdmin && drive !== null ? turn : undefined} />
          </li>
        ))}
      </ul>
      {isAdmin ? (
        <div class="actions">
          {isDriven || (found.lines === '' && apns === null) ? null : (
            <DialogButton
              button={{ children: t('core.found.watch') }}
              title={t('core.found.watch')}
              confirm={t('core.found.watch')}
              what={t('core.found.watch.what')}
              act={() => fitted(settings, apns, setByHand)}
              onDone={() => onDone(t('core.found.watch.done'))}
            >
              <Settings found={found} />
              {hand}
            </DialogButton>
          )}
          {drive === null ? null : (
            <DialogButton
              text="core.found.adopt"
              button={{ kind: 'primary' }}
              act={async () => {
                const fits = await fitted({ ...settings, ...drive }, apns, setByHand)
                return fits?.ok === true
                  ? await api.post('/v1/core/adopt', { body: { ours: [...ours] } })
                  : fits
              }}
              onDone={(data) => onDone(t('core.found.done', { copy: copyOf(data) }))}
            >
              <Cost found={found} ours={ours} />
              <Pending count={found.subscribers_pending} />
              <Radios stations={found.base_stations} ours={ours} />
              <Settings found={found} />
              {hand}
            </DialogButton>
          )}
        </div>
      ) : null}
      {isAdmin && drive === null ? <p>{t('core.found.cannotDrive')}</p> : null}
    </>
  )
}

function copyOf(data: unknown): string {
  return typeof data === 'object' && data !== null && 'copy' in data ? String(data.copy) : ''
}

/** Why nothing was written: parts would restart although none is to, or a person has to write the settings. */
function Stopped({ planned }: { readonly planned: Planned }) {
  const { restarts = [], subscribers_dropped: dropped = null } = planned.core ?? {}
  if (restarts.length === 0) return <ByHand planned={planned} />
  return (
    <Notice tone="bad">
      <p>{t('core.found.cost.stopped')}</p>
      <Restarts daemons={restarts} dropped={dropped} />
    </Notice>
  )
}

/** Has these settings and APNs in force; undefined where it has stopped before, of which `onByHand` is told. */
async function fitted(
  settings: Found['settings'],
  apns: Found['apns'],
  onByHand: (planned: Planned | undefined) => void,
): Promise<Awaited<ReturnType<typeof api.get>> | undefined> {
  onByHand(undefined)
  if (Object.keys(settings).length > 0) {
    const body = { settings }
    const planned = await api.put('/v1/settings', { query: { found: true, dry_run: true }, body })
    if (!planned.ok) return planned
    const { writable, fixed, core } = planned.data
    if (!writable || fixed.length > 0 || (core?.restarts ?? []).length > 0) {
      onByHand(planned.data)
      return undefined
    }
    const written = await api.put('/v1/settings', { query: { found: true }, body })
    if (!written.ok) return written
  }
  return apns === null
    ? await api.get('/v1/core/plan')
    : await api.put('/v1/policy', { body: { apns: [...apns] } })
}

/** What is written into the configuration file of the box. */
function Settings({ found }: { readonly found: Found }) {
  const { lines } = found
  return (
    <>
      {lines === '' ? null : (
        <details>
          <summary>{t('core.found.settings')}</summary>
          <pre>{lines}</pre>
        </details>
      )}
      <Apns found={found} />
    </>
  )
}

/** Whom taking over cuts off: nobody, unless lines are ticked. */
function Cost({
  found: { adopted, files },
  ours,
}: {
  readonly found: Found
  readonly ours: readonly Line[]
}) {
  const ticked = files.filter(({ path }) => ours.some((line) => line.path === path))
  const daemons = [
    ...new Set([...(adopted?.restarts ?? []), ...ticked.flatMap(({ daemon }) => daemon ?? [])]),
  ]
  if (daemons.length === 0) return <Notice tone="ok">{t('core.found.cost.none')}</Notice>
  const counts = [adopted?.subscribers_dropped ?? 0, ...ticked.map((one) => one.subscribers_dropped)]
  const known = counts.filter((count) => count !== null)
  return (
    <Notice tone="warn">
      <Restarts daemons={daemons} dropped={known.length < counts.length ? null : Math.max(...known)} />
    </Notice>
  )
}

/** SIMs that the box has and the core has not: they are written with it. */
function Pending({ count }: { readonly count: number | null }) {
  return count === null || count === 0 ? null : <p>{t('core.found.pending', { count })}</p>
}

/** Lines that base stations are set to, among those that are ticked. */
function Radios({
  stations,
  ours,
}: {
  readonly stations: Found['base_stations']
  readonly ours: readonly Line[]
}) {
  const lines = ours
    .filter(({ key }) => radiosOf(key) !== undefined)
    .map(({ path, key }) => `${path}: ${key}`)
  if (lines.length === 0) return null
  return (
    <Notice tone="bad">
      <p>{t('core.found.radios.cost')}</p>
      {stations === null ? null : <p>{t('core.found.radios.now', { count: stations })}</p>}
      <Lines lines={lines} />
    </Notice>
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
        <p>
          {t('core.found.ifTicked')} {dropsText(dropped)}
        </p>
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
                  help={radiosOf(key)}
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
