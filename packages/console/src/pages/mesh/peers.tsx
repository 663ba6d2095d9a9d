import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Bytes } from '../../ui/bytes.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { durationText } from '../../ui/time.tsx'
import { type Peer, peerTone, unapproved } from './peer-facts.ts'

/** The links to other boxes: how each is, and what waits for somebody. */
export function Peers({
  peers,
  onOpen,
}: {
  readonly peers: readonly Peer[]
  readonly onOpen: (id: string) => void
}) {
  return (
    <DataTable
      label={t('mesh.links')}
      rows={peers}
      columns={columns(onOpen)}
      keyOf={({ id }) => id}
      onOpen={({ id }) => onOpen(id)}
    />
  )
}

function columns(onOpen: (id: string) => void): readonly Column<Peer>[] {
  return [
    {
      key: 'name',
      title: t('mesh.link.name'),
      cell: ({ id, name }) => (
        <Button kind="quiet" onClick={() => onOpen(id)}>
          {name}
        </Button>
      ),
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    {
      key: 'state',
      title: t('mesh.link.state'),
      cell: ({ state }) => <Lamp tone={peerTone(state)} label={word('mesh.state', state)} />,
      compare: (a, b) => a.state.localeCompare(b.state),
    },
    {
      key: 'routes',
      title: t('mesh.link.waiting'),
      cell: (peer) => {
        const { length: count } = unapproved(peer)
        return count === 0 ? '–' : <strong>{t('mesh.link.toApprove', { count })}</strong>
      },
    },
    {
      key: 'handshake',
      title: t('mesh.link.handshake'),
      isWide: true,
      cell: ({ handshake_age_s: age }) =>
        age === null ? t('mesh.never') : t('mesh.ago', { time: durationText(age * 1_000) }),
    },
    {
      key: 'rtt',
      title: t('mesh.link.rtt'),
      isNumeric: true,
      isWide: true,
      cell: ({ rtt_ms: ms }) => (typeof ms === 'number' ? `${Math.round(ms)} ms` : '–'),
    },
    {
      key: 'bytes',
      title: t('mesh.link.bytes'),
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
