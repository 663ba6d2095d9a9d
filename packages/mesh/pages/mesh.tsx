import {
  addStyle,
  api,
  Button,
  Bytes,
  Card,
  Checkbox,
  Closing,
  type Column,
  Copy,
  DataTable,
  Dialog,
  DialogButton,
  durationText,
  EmptyState,
  ErrorNotice,
  Facts,
  Field,
  Form,
  filter,
  HealthList,
  Lamp,
  may,
  Notice,
  Panels,
  Said,
  t,
  toggled,
  useAction,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'
import { BackhaulByMonth } from './backhaul.tsx'
import { Boxes } from './boxes.tsx'
import { FindSim } from './find-sim.tsx'
import css from './mesh.css'
import { grouped, type MeshMembers, type Peer, peerTone, unapproved } from './peer-facts.ts'
import { ThisBox } from './this-box.tsx'

addStyle(css)

const LOOK_MS = 10_000
const CHANGES = ['peer.*', 'mesh.*', 'node.*', 'policy.*', 'config.*'] as const

/** The other boxes: who belongs to this one's mesh, the links to them, and how one comes and goes. */
export function Page() {
  const [chosen, setChosen] = useState<string>()
  const status = useQuery('/v1/status')
  const peers = useQuery('/v1/peers', { query: { limit: 500 } }, { on: CHANGES, everyMs: LOOK_MS })
  const members = useQuery(
    may('operator') ? '/v1/mesh/members' : undefined,
    {},
    { on: CHANGES, everyMs: LOOK_MS },
  )
  const rows = peers.data?.peers ?? []
  const links = rows.filter(({ state }) => state !== 'suggested')
  const suggested = rows.filter(({ state }) => state === 'suggested')
  const peer = rows.find(({ id }) => id === chosen)
  const nodeId = status.data?.node_id
  return (
    <>
      <h1>{t('mesh.title')}</h1>
      <ThisBox members={members.data} nodeId={nodeId} onChange={members.reload} />
      <ErrorNotice error={peers.error} onRetry={peers.reload} />
      {suggested.length === 0 ? null : <Suggested peers={suggested} />}
      <ErrorNotice error={members.error} onRetry={members.reload} />
      {members.data === undefined || !isHub(members.data, nodeId) ? null : <FindSim members={members.data} />}
      {members.data === undefined ? null : (
        <Boxes members={members.data} nodeId={nodeId} onChange={members.reload} />
      )}
      {peers.data === undefined ? null : (
        <section aria-labelledby="mesh-links">
          <h2 id="mesh-links">{t('mesh.links')}</h2>
          {links.length === 0 ? (
            <EmptyState title={t('mesh.links.none')}>
              {may('admin') ? t('mesh.links.none.help') : undefined}
            </EmptyState>
          ) : (
            <>
              <ApproveAll peers={links} onChange={peers.reload} />
              <Peers peers={links} onOpen={setChosen} />
            </>
          )}
        </section>
      )}
      <Panels on="mesh" />
      <BackhaulByMonth />
      <MeshHealth />
      {peer === undefined ? null : (
        <PeerDialog key={peer.id} peer={peer} onClose={() => setChosen(undefined)} onChange={peers.reload} />
      )}
    </>
  )
}

/** Whether this box is the root of a mesh with others. */
function isHub({ mesh, members }: MeshMembers, nodeId: string | undefined): boolean {
  return mesh.root_node_id === nodeId && members.length > 1
}

/** Boxes that were heard of nearby, with the fingerprint that their certificate must have. */
function Suggested({ peers }: { readonly peers: readonly Peer[] }) {
  return (
    <section aria-labelledby="mesh-suggested">
      <h2 id="mesh-suggested">{t('mesh.suggested')}</h2>
      <p>{t('mesh.suggested.help')}</p>
      <div class="cards">
        {peers.map((peer) => (
          <Suggestion key={peer.id} peer={peer} />
        ))}
      </div>
    </section>
  )
}

function Suggestion({ peer }: { readonly peer: Peer }) {
  const accept = useAction(() => api.post('/v1/peers/{id}/accept', { path: { id: peer.id } }), {
    done: t('mesh.accepted', { name: peer.name }),
  })
  return (
    <article class="card" aria-label={peer.name}>
      <h3>{peer.name}</h3>
      <p>{peer.endpoint ?? ''}</p>
      <p class="fine">{t('mesh.fingerprint')}</p>
      <p>
        <code>{grouped(peer.fingerprint ?? '')}</code>
      </p>
      <ErrorNotice error={accept.error} />
      {may('operator') ? (
        <Button kind="primary" isBusy={accept.isBusy} onClick={() => void accept.run()}>
          {t('mesh.accept')}
        </Button>
      ) : null}
    </article>
  )
}

/** The links to other boxes: how each is, and what waits for somebody. */
function Peers({
  peers,
  onOpen,
}: {
  readonly peers: readonly Peer[]
  readonly onOpen: (id: string) => void
}) {
  const text = filter('box').toLowerCase()
  return (
    <DataTable
      label={t('mesh.links')}
      rows={peers.filter(({ name }) => name.toLowerCase().includes(text))}
      columns={columns(onOpen)}
      keyOf={({ id }) => id}
      onOpen={({ id }) => onOpen(id)}
    />
  )
}

/** Approves what all boxes offer and nobody has approved yet, after a second press that says which networks. */
function ApproveAll({ peers, onChange }: { readonly peers: readonly Peer[]; readonly onChange: () => void }) {
  const waiting = peers.filter((peer) => unapproved(peer).length > 0)
  const count = waiting.flatMap(unapproved).length
  if (waiting.length < 2 || !may('operator')) return null
  const button = t('mesh.routes.approveAll', { count, boxes: waiting.length })
  return (
    <DialogButton
      button={{ children: button }}
      title={button}
      confirm={t('mesh.routes.approve')}
      act={async () => {
        let result = await approved(waiting[0])
        for (const peer of waiting.slice(1)) if (result.ok) result = await approved(peer)
        return result
      }}
      done={t('mesh.routes.allApproved', { count })}
      onDone={onChange}
    >
      <ul>
        {waiting.map((peer) => (
          <li key={peer.id}>
            {peer.name}: {unapproved(peer).join(', ')}
          </li>
        ))}
      </ul>
    </DialogButton>
  )
}

function approved(peer: Peer | undefined) {
  const { id = '', advertised = [], approved: before = [] } = peer ?? {}
  const routes = [...new Set([...before, ...advertised])]
  return api.post('/v1/peers/{id}/approve', { path: { id }, body: { routes } })
}

function columns(onOpen: (id: string) => void): readonly Column<Peer>[] {
  return [
    {
      text: 'mesh.link.name',
      cell: ({ id, name }) => (
        <Button kind="quiet" onClick={() => onOpen(id)}>
          {name}
        </Button>
      ),
      of: 'name',
      isSortable: true,
    },
    {
      text: 'mesh.link.state',
      cell: ({ state }) => <Lamp tone={peerTone(state)} label={word('mesh.state', state)} />,
      of: 'state',
      isSortable: true,
    },
    {
      text: 'mesh.link.waiting',
      cell: (peer) => {
        const { length: count } = unapproved(peer)
        return count === 0 ? '–' : <strong>{t('mesh.link.toApprove', { count })}</strong>
      },
    },
    {
      text: 'mesh.link.handshake',
      isWide: true,
      cell: handshakeText,
    },
    {
      text: 'mesh.link.rtt',
      isNumeric: true,
      isWide: true,
      cell: ({ rtt_ms: ms }) => (typeof ms === 'number' ? `${Math.round(ms)} ms` : '–'),
    },
    {
      text: 'mesh.link.bytes',
      isNumeric: true,
      isWide: true,
      cell: ({ rx_bytes: rx = 0, tx_bytes: tx = 0 }) => (
        <>
          ↓ <Bytes value={rx} /> ↑ <Bytes value={tx} />
        </>
      ),
    },
  ]
}

function handshakeText({ handshake_age_s: age }: Peer): string {
  return age === null ? t('mesh.never') : t('mesh.ago', { time: durationText(age * 1_000) })
}

interface PeerProps {
  readonly peer: Peer
  readonly onClose: () => void
  /** Something of it was changed. */
  readonly onChange: () => void
}

/** One link: how it is, which of its routes are approved, and how it is taken away. */
function PeerDialog({ peer, onClose, onChange }: PeerProps) {
  return (
    <Dialog isOpen title={peer.name} onClose={onClose}>
      <p>
        <Lamp tone={peerTone(peer.state)} label={word('mesh.state', peer.state)} />{' '}
        <Said>{peer.reason ?? ''}</Said>
      </p>
      <Facts
        facts={[
          [t('mesh.link.source'), word('mesh.source', peer.source)],
          [t('mesh.link.endpoint'), peer.endpoint ?? peer.last_endpoint ?? t('mesh.link.comes')],
          [t('mesh.link.address'), peer.address ?? '–'],
          [t('mesh.link.handshake'), handshakeText(peer)],
          [
            t('mesh.key'),
            <>
              <code>{peer.public_key ?? '–'}</code>
              {typeof peer.public_key === 'string' ? <Copy text={peer.public_key} /> : null}
            </>,
          ],
          [t('mesh.link.serving'), (peer.serving ?? []).join(', ') || '–'],
        ]}
      />
      <Routes peer={peer} onChange={onChange} />
      {may('operator') && peer.source === 'static' ? <NextKeyForm peer={peer} onChange={onChange} /> : null}
      {may('operator') ? <Remove peer={peer} onClose={onClose} onChange={onChange} /> : null}
      <Closing onClose={onClose} />
    </Dialog>
  )
}

function Routes({ peer, onChange }: Omit<PeerProps, 'onClose'>) {
  const { advertised = [], approved = [] } = peer
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(approved))
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const approve = useAction(
    (routes: readonly string[]) =>
      api.post('/v1/peers/{id}/approve', { path: { id: peer.id }, body: { routes } }),
    { done: t('mesh.routes.approved', { name: peer.name }), onDone: onChange },
  )
  const all = [...new Set([...advertised, ...approved])]
  const isForbidden = policy.data?.mesh.allow_route_advertise === false
  const isChanged = chosen.size !== approved.length || approved.some((route) => !chosen.has(route))
  return (
    <section class="stack" aria-labelledby="mesh-routes">
      <h3 id="mesh-routes">{t('mesh.routes')}</h3>
      {all.length === 0 ? <p>{t('mesh.routes.none')}</p> : null}
      {isForbidden && all.length > 0 ? (
        <Notice tone="warn">
          {t('mesh.routes.forbidden')} <a href="/rules">{t('mesh.routes.rules')}</a>
        </Notice>
      ) : null}
      {all.map((route) => (
        <Checkbox
          key={route}
          label={route}
          help={t(advertised.includes(route) ? 'mesh.route.advertised' : 'mesh.route.gone')}
          isChecked={chosen.has(route)}
          isDisabled={!may('operator')}
          onChange={() => setChosen(toggled(chosen, route))}
        />
      ))}
      <ErrorNotice error={approve.error} />
      {may('operator') && all.length > 0 ? (
        <div>
          <Button
            kind="primary"
            isDisabled={!isChanged}
            isBusy={approve.isBusy}
            onClick={() => void approve.run([...chosen])}
          >
            {t('mesh.routes.approve')}
          </Button>
        </div>
      ) : null}
    </section>
  )
}

/** Takes a link away, after a second press that says what it costs. */
function Remove({ peer, onClose, onChange }: PeerProps) {
  const [isAsked, setAsked] = useState(false)
  const remove = useAction(() => api.delete('/v1/peers/{id}', { path: { id: peer.id } }), {
    done: t('mesh.removed', { name: peer.name }),
    onDone: () => {
      onChange()
      onClose()
    },
  })
  if (!isAsked)
    return (
      <div class="apart">
        <Button onClick={() => setAsked(true)}>{t('mesh.remove')}</Button>
      </div>
    )
  return (
    <Notice tone="warn">
      <p>{t(peer.source === 'mesh' ? 'mesh.remove.member' : 'mesh.remove.what')}</p>
      <ErrorNotice error={remove.error} />
      <div class="actions">
        <Button onClick={() => setAsked(false)}>{t('ui.cancel')}</Button>
        <Button kind="danger" isBusy={remove.isBusy} onClick={() => void remove.run()}>
          {t('mesh.remove.confirm', { name: peer.name })}
        </Button>
      </div>
    </Notice>
  )
}

/** Takes the next key of a box that was linked by hand: nobody else tells it. */
function NextKeyForm({ peer, onChange }: { readonly peer: Peer; readonly onChange: () => void }) {
  const [key, setKey] = useState('')
  return (
    <Form
      look="stack apart"
      submit={t('mesh.nextKey.go')}
      act={() =>
        api.post('/v1/peers/{id}/rotate', { path: { id: peer.id }, body: { public_key: key.trim() } })
      }
      done={t('mesh.nextKey.done', { name: peer.name })}
      onDone={() => {
        setKey('')
        onChange()
      }}
    >
      <Field text="mesh.nextKey" value={key} onInput={setKey} isRequired />
    </Form>
  )
}

/** How membership, links, announcements and the way out are. */
function MeshHealth() {
  const health = useQuery(
    '/v1/health',
    {},
    { on: ['health.*', 'peer.*', 'mesh.*', 'node.*'], everyMs: LOOK_MS },
  )
  const parts = (health.data?.components ?? []).filter(({ name }) => name.startsWith('mesh.'))
  if (parts.length === 0) return null
  return (
    <Card title={t('mesh.health')}>
      <HealthList components={parts} />
    </Card>
  )
}
