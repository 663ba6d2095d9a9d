import {
  Button,
  Bytes,
  type Column,
  DataTable,
  ErrorNotice,
  Field,
  filter,
  type ItemOf,
  Lamp,
  may,
  Select,
  setFilters,
  Time,
  type Tone,
  t,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'
import { LeaveDialog } from './leave-dialog.tsx'
import type { MeshMembers } from './peer-facts.ts'

type Member = MeshMembers['members'][number]
type Node = ItemOf<'/v1/nodes'>
/** A member, with what its heartbeats tell: undefined where this box hears none. */
type Box = Member & { readonly node: Node | undefined }

/** As often as a box tells of itself. */
const LOOK_MS = 15_000
const PAGE = 500
/** Clocks of boxes that agree to that are as good as right. */
const MOST_OFFSET_S = 10
const CHANGES = { on: ['node.*'], everyMs: LOOK_MS }

/** All nodes that this box knows: two pages, since a mesh has up to a thousand. */
function useNodes() {
  const first = useQuery('/v1/nodes', { query: { limit: PAGE } }, CHANGES)
  const cursor = first.data?.next_cursor ?? undefined
  const path = cursor === undefined ? undefined : '/v1/nodes'
  const second = useQuery(path, { query: { limit: PAGE, cursor: cursor ?? '' } }, CHANGES)
  return {
    nodes: [...(first.data?.nodes ?? []), ...(second.data?.nodes ?? [])],
    error: first.error ?? second.error,
    reload: first.reload,
  }
}

/** How a box is, in one word: what it is called, how it looks, and what comes first when sorted by it. */
const STATES = ['silent', 'outage', 'onAir', 'off', 'unknown'] as const
type BoxState = (typeof STATES)[number]
const TONES: Readonly<Record<BoxState, Tone>> = {
  silent: 'bad',
  outage: 'warn',
  onAir: 'ok',
  off: 'none',
  unknown: 'none',
}

function stateOf({ node }: Box): BoxState {
  if (node === undefined) return 'unknown'
  if (node.degraded_reason === 'no heartbeat') return 'silent'
  if (node.incidents.length > 0 || node.degraded_reason !== null) return 'outage'
  return node.on_air === true ? 'onAir' : 'off'
}

/** What is wrong there, the gravest first. */
function outageOf({ node }: Box): string {
  const [worst] = node?.incidents ?? []
  if (worst === undefined) return ''
  const text = word('incident.title', worst.kind)
  // Of a kind that has no words here, the state says enough.
  return text === worst.kind ? '' : text
}

/** Who belongs to the mesh and how each is, as its heartbeats tell. At the root an admin can put a box out. */
export function Boxes({
  members,
  nodeId,
  onChange,
}: {
  readonly members: MeshMembers
  readonly nodeId: string | undefined
  readonly onChange: () => void
}) {
  const { nodes, error, reload } = useNodes()
  const [leaving, setLeaving] = useState<Member>()
  const byId = new Map(nodes.map((node) => [node.node_id, node]))
  const boxes = members.members.map((member): Box => ({ ...member, node: byId.get(member.node_id) }))
  const [text, wanted] = [filter('box').toLowerCase(), filter('is')]
  const shown = boxes.filter(
    (box) => box.name.toLowerCase().includes(text) && (wanted === '' || stateOf(box) === wanted),
  )
  const isRoot = members.mesh.root_node_id === nodeId
  const canPutOut = may('admin') && isRoot && boxes.length > 1
  const title = t('mesh.members', { name: members.mesh.name })
  return (
    <section aria-labelledby="mesh-members">
      <h2 id="mesh-members">{title}</h2>
      <ErrorNotice error={error} onRetry={reload} />
      {isRoot && boxes.length > 1 ? <Sum boxes={boxes} /> : null}
      {boxes.length > 1 ? <Narrow boxes={boxes} isRoot={isRoot} /> : null}
      <DataTable
        label={title}
        rows={shown}
        columns={[
          nameColumn(nodeId),
          ...(isRoot ? [...HEARD, ADDRESS] : [ADDRESS, JOINED]),
          ...(canPutOut ? [outColumn(nodeId, setLeaving)] : []),
        ]}
        keyOf={({ node_id: id }) => id}
      />
      {leaving === undefined ? null : (
        <LeaveDialog
          nodeId={leaving.node_id}
          name={leaving.name}
          isOwn={false}
          onClose={() => setLeaving(undefined)}
          onDone={onChange}
        />
      )}
    </section>
  )
}

function countOf(boxes: readonly Box[], state: BoxState): number {
  return boxes.filter((box) => stateOf(box) === state).length
}

/** All boxes in one line: each state that some are in narrows the list to them. */
function Sum({ boxes }: { readonly boxes: readonly Box[] }) {
  const phones = boxes.reduce((sum, { node }) => sum + (node?.phones ?? 0), 0)
  const sims = boxes.reduce((sum, { node }) => sum + (node?.sims ?? 0), 0)
  const octets = boxes.reduce((sum, { node }) => sum + (node?.octets_today ?? 0), 0)
  return (
    <p class="toolbar">
      {STATES.filter((state) => countOf(boxes, state) > 0).map((state) => (
        <Button key={state} kind="quiet" onClick={() => setFilters({ is: state })}>
          <Lamp tone={TONES[state]} label={t(`mesh.box.${state}`, { count: countOf(boxes, state) })} />
        </Button>
      ))}
      <span>{t('mesh.box.phones', { count: phones })}</span>
      <span>{t('mesh.box.sims', { count: sims })}</span>
      <span>
        {t('mesh.box.today')}: <Bytes value={octets} />
      </span>
    </p>
  )
}

function Narrow({ boxes, isRoot }: { readonly boxes: readonly Box[]; readonly isRoot: boolean }) {
  return (
    <search class="toolbar filters">
      <Field
        type="search"
        text="mesh.box.search"
        value={filter('box')}
        onInput={(box) => setFilters({ box })}
      />
      {isRoot ? (
        <Select
          text="mesh.link.state"
          value={filter('is')}
          onChange={(is) => setFilters({ is })}
          options={[
            { value: '', label: t('mesh.box.all', { count: boxes.length }) },
            ...STATES.map((state) => ({
              value: state,
              label: t(`mesh.box.${state}`, { count: countOf(boxes, state) }),
            })),
          ]}
        />
      ) : null}
    </search>
  )
}

function nameColumn(nodeId: string | undefined): Column<Box> {
  return {
    text: 'mesh.link.name',
    of: 'name',
    isSortable: true,
    cell: ({ name, node_id: id, is_root: isRoot }) => {
      const what = [isRoot ? t('mesh.member.root') : '', id === nodeId ? t('mesh.member.this') : '']
      const text = what.filter((one) => one !== '').join(', ')
      return (
        <>
          {name} {text === '' ? null : <span class="fine">{text}</span>}
        </>
      )
    },
  }
}

/** What heartbeats tell. */
const HEARD: readonly Column<Box>[] = [
  {
    text: 'mesh.link.state',
    cell: (box) => (
      <Lamp tone={TONES[stateOf(box)]} label={outageOf(box) || word('mesh.box.state', stateOf(box))} />
    ),
    compare: (a, b) => STATES.indexOf(stateOf(a)) - STATES.indexOf(stateOf(b)),
  },
  {
    text: 'mesh.box.channel',
    isWide: true,
    cell: ({ node }) => node?.channel ?? '–',
    compare: (a, b) => (a.node?.channel ?? '').localeCompare(b.node?.channel ?? ''),
  },
  numberColumn('mesh.box.phonesOn', ({ node }) => node?.phones),
  numberColumn('mesh.box.simsHere', ({ node }) => node?.sims),
  {
    text: 'mesh.box.today',
    isNumeric: true,
    isDownFirst: true,
    cell: ({ node }) => (typeof node?.octets_today === 'number' ? <Bytes value={node.octets_today} /> : '–'),
    compare: (a, b) => (a.node?.octets_today ?? -1) - (b.node?.octets_today ?? -1),
  },
  numberColumn('mesh.box.backlog', ({ node }) => node?.backlog, true),
  {
    text: 'mesh.box.version',
    isWide: true,
    cell: ({ node }) => node?.version ?? '–',
    compare: (a, b) => (a.node?.version ?? '').localeCompare(b.node?.version ?? ''),
  },
  {
    text: 'mesh.box.clock',
    isWide: true,
    cell: ({ node }) => clockCell(node?.clock_offset_s ?? null),
    compare: (a, b) => Math.abs(a.node?.clock_offset_s ?? 0) - Math.abs(b.node?.clock_offset_s ?? 0),
  },
  {
    text: 'mesh.box.seen',
    cell: ({ node }) => (node === undefined ? '–' : <Time at={node.last_seen} relative />),
    compare: (a, b) => (a.node?.last_seen ?? '').localeCompare(b.node?.last_seen ?? ''),
  },
]

function clockCell(offsetS: number | null) {
  if (offsetS === null) return '–'
  if (Math.abs(offsetS) <= MOST_OFFSET_S) return t('mesh.box.clock.right')
  const seconds = Math.round(Math.abs(offsetS))
  return (
    <Lamp
      tone="warn"
      label={t(offsetS > 0 ? 'mesh.box.clock.ahead' : 'mesh.box.clock.behind', { seconds })}
    />
  )
}

function numberColumn(
  text: string,
  of: (box: Box) => number | null | undefined,
  isWide = false,
): Column<Box> {
  return {
    ...{ text, isNumeric: true, isDownFirst: true, isWide },
    cell: (box) => of(box)?.toLocaleString() ?? '–',
    compare: (a, b) => (of(a) ?? -1) - (of(b) ?? -1),
  }
}

/** Where a box is in the mesh; since when, where nothing else is known of it. */
const ADDRESS: Column<Box> = { text: 'mesh.link.address', isWide: true, of: 'overlay_address' }
const JOINED: Column<Box> = {
  text: 'mesh.member.joined',
  isWide: true,
  of: 'joined_at',
  as: 'moment',
  isSortable: true,
}

function outColumn(nodeId: string | undefined, onOut: (member: Member) => void): Column<Box> {
  return {
    text: 'mesh.member.change',
    cell: (member) =>
      member.node_id === nodeId ? (
        ''
      ) : (
        <Button kind="quiet" onClick={() => onOut(member)} label={t('mesh.putOut.of', { name: member.name })}>
          {t('mesh.putOut')}
        </Button>
      ),
  }
}
