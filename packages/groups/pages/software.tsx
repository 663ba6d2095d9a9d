import {
  type AnswerOf,
  api,
  type Column,
  DataTable,
  DialogButton,
  EmptyState,
  Lamp,
  Loaded,
  may,
  type RequestOf,
  Said,
  Select,
  Time,
  type Tone,
  t,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'

type Software = AnswerOf<'GET', '/v1/software'>
type Build = Software['builds'][number]
type Group = AnswerOf<'GET', '/v1/groups'>['groups'][number]
type Wanted = RequestOf<'PUT', '/v1/groups/{name}'>['body']['state']

const CHANGES = ['software.*', 'groups.*'] as const
const LOOK_MS = 15_000
const TONES: Readonly<Record<string, Tone>> = {
  runs: 'ok',
  went_back: 'bad',
  refused: 'bad',
  all: 'ok',
  stopped: 'bad',
}
/** The group that a roll-out makes where there is none. */
const EACH_BOX = 'all'

/** Which build this box runs, how far another one is, and builds for it and for others. */
export function Panel() {
  const software = useQuery('/v1/software', {}, { on: CHANGES, everyMs: LOOK_MS })
  return (
    <section class="card" aria-label={t('software.title')} style={{ gridColumn: '1 / -1' }}>
      <h2>{t('software.title')}</h2>
      <Loaded query={software}>{(known) => <Known software={known} onChange={software.reload} />}</Loaded>
    </section>
  )
}

interface KnownProps {
  readonly software: Software
  readonly onChange: () => void
}

function Known({ software, onChange }: KnownProps) {
  const { running, launched, wanted, builds, rollouts } = software
  const isHub = may('admin')
  const boxes = useQuery(isHub ? '/v1/desired-state' : undefined, { query: { limit: 500 } }, { on: CHANGES })
  const groups = useQuery(isHub ? '/v1/groups' : undefined, { query: { limit: 200 } }, { on: CHANGES })
  const others = boxes.data?.boxes ?? []
  const named = new Map(others.map(({ node_id, name }) => [node_id, name]))
  return (
    <>
      <p>
        {running.build === null
          ? t('software.by_hand', { version: running.version })
          : t('software.runs', { version: running.version, build: running.build })}
      </p>
      {wanted === null || wanted.build === running.build ? null : (
        <p>
          <Lamp
            tone={TONES[wanted.status] ?? 'none'}
            label={`${wanted.build}: ${word('software.status', wanted.status)}`}
          />{' '}
          {wanted.problem === null ? null : <Said>{wanted.problem}</Said>}
        </p>
      )}
      {launched ? null : <p class="fine">{t('software.not_launched')}</p>}
      {builds.length === 0 ? (
        <EmptyState title={t('software.none')}>{t('software.none.help')}</EmptyState>
      ) : (
        <DataTable
          label={t('software.builds')}
          rows={builds}
          columns={buildColumns({
            software,
            onChange,
            groups: others.length === 0 ? undefined : groups.data?.groups,
          })}
          keyOf={({ build }) => build}
        />
      )}
      {rollouts.length === 0 ? null : (
        <ul class="home-list">
          {rollouts.map(({ build, stage, given, well_since, stopped_by }) => (
            <li key={build}>
              <Lamp
                tone={TONES[stage] ?? 'none'}
                label={`${versionOf(builds, build)}: ${word('software.stage', stage)}`}
              />
              <div class="words fine">
                {t('software.given', { count: given.length })}{' '}
                {well_since === null ? null : (
                  <>
                    {t('software.well_since')} <Time at={well_since} />
                  </>
                )}
                {stopped_by === null
                  ? null
                  : t('software.stopped_by', { box: named.get(stopped_by) ?? stopped_by })}
              </div>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function versionOf(builds: readonly Build[], id: string): string {
  const version = builds.find(({ build }) => build === id)?.version
  return version === undefined ? id : `${version} (${id})`
}

interface Doing extends KnownProps {
  /** Of a hub; undefined where there are no other boxes. */
  readonly groups: readonly Group[] | undefined
}

function buildColumns(doing: Doing): readonly Column<Build>[] {
  return [
    { text: 'software.version', cell: ({ version, arch }) => `${version} · ${arch}` },
    { text: 'software.build', isWide: true, cell: ({ build }) => <code>{build}</code> },
    { text: 'software.made', isWide: true, of: 'made_at', as: 'moment', isSortable: true },
    { text: 'software.state', cell: (build) => stateOf(build, doing.software) },
    { key: 'do', title: '', cell: (build) => (may('admin') ? <Actions build={build} {...doing} /> : null) },
  ]
}

function stateOf({ build, trusted }: Build, { running, went_back }: Software) {
  if (running.build === build) return <Lamp tone="ok" label={t('software.running')} />
  if (!trusted) return <Lamp tone="warn" label={t('software.untrusted')} />
  if (went_back.includes(build)) return <Lamp tone="bad" label={t('software.status.went_back')} />
  return <Lamp tone="none" label={t('software.ready')} />
}

function Actions({ build, software, groups, onChange }: Doing & { readonly build: Build }) {
  const { build: id, version, trusted } = build
  const { running, launched, went_back } = software
  return (
    <>
      {launched && trusted && running.build !== id ? (
        <DialogButton
          text="software.use"
          values={{ version }}
          button={{ kind: 'quiet' }}
          act={() =>
            api.put('/v1/software', {
              body: { build: id, ...(went_back.includes(id) ? { again: true } : {}) },
            })
          }
          onDone={onChange}
        >
          {went_back.includes(id) ? <p>{t('software.again')}</p> : null}
        </DialogButton>
      ) : null}{' '}
      {groups === undefined ? null : <RollOut id={id} version={version} groups={groups} onDone={onChange} />}
    </>
  )
}

interface RollOutProps {
  readonly id: string
  readonly version: string
  readonly groups: readonly Group[]
  readonly onDone: () => void
}

function RollOut({ id, version, groups, onDone }: RollOutProps) {
  const [chosen, setName] = useState(groups[0]?.name)
  // Groups come and go while this is open: one that nobody has chosen is made only where there is none.
  const group = groups.find((one) => one.name === chosen) ?? groups[0]
  const name = group?.name ?? EACH_BOX
  const { members = { all: true, nodes: [] }, rank = 0 } = group ?? {}
  // What the service says of a group is what it takes.
  const state = (group?.state ?? {}) as Wanted
  return (
    <DialogButton
      text="software.roll_out"
      values={{ version }}
      button={{ kind: 'quiet' }}
      act={() =>
        api.put('/v1/groups/{name}', {
          path: { name },
          body: { members, rank, state: { ...state, software: { ...state.software, build: id } } },
        })
      }
      onDone={onDone}
    >
      {groups.length === 0 ? (
        <p>{t('software.each_box')}</p>
      ) : (
        <Select
          text="software.group"
          value={name}
          onChange={setName}
          options={groups.map(({ name: value }) => ({ value, label: value }))}
        />
      )}
    </DialogButton>
  )
}
