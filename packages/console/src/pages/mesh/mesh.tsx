import { useState } from 'preact/hooks'
import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { BackhaulByMonth } from './backhaul.tsx'
import { Members } from './members.tsx'
import { MeshHealth } from './mesh-health.tsx'
import { PeerDialog } from './peer-dialog.tsx'
import { Peers } from './peers.tsx'
import { Suggested } from './suggested.tsx'
import { ThisBox } from './this-box.tsx'
import './mesh.css'

const LOOK_MS = 10_000
const CHANGES = ['peer.*', 'mesh.*', 'node.*', 'policy.*', 'config.*'] as const

/** The other boxes: who belongs to this one's mesh, the links to them, and how one comes and goes. */
export function Page() {
  const [chosen, setChosen] = useState<string | undefined>(undefined)
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
      {peers.error === undefined ? null : <ErrorNotice error={peers.error} onRetry={peers.reload} />}
      {suggested.length === 0 ? null : <Suggested peers={suggested} />}
      {peers.data === undefined ? null : (
        <section aria-labelledby="mesh-links">
          <h2 id="mesh-links">{t('mesh.links')}</h2>
          {links.length === 0 ? (
            <EmptyState title={t('mesh.links.none')}>{t('mesh.links.none.help')}</EmptyState>
          ) : (
            <Peers peers={links} onOpen={setChosen} />
          )}
        </section>
      )}
      {members.error === undefined ? null : <ErrorNotice error={members.error} onRetry={members.reload} />}
      {members.data === undefined ? null : (
        <Members members={members.data} nodeId={nodeId} onChange={members.reload} />
      )}
      <BackhaulByMonth />
      <MeshHealth />
      {peer === undefined ? null : (
        <PeerDialog key={peer.id} peer={peer} onClose={() => setChosen(undefined)} onChange={peers.reload} />
      )}
    </>
  )
}
