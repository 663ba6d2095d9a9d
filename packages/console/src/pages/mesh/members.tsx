import { useState } from 'preact/hooks'
import { may } from '../../api/session.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Time } from '../../ui/time.tsx'
import { LeaveDialog } from './leave-dialog.tsx'
import type { MeshMembers } from './peer-facts.ts'

type Member = MeshMembers['members'][number]

/** Who belongs to the mesh. At its root an admin can put a box out. */
export function Members({
  members,
  nodeId,
  onChange,
}: {
  readonly members: MeshMembers
  readonly nodeId: string | undefined
  readonly onChange: () => void
}) {
  const [leaving, setLeaving] = useState<Member | undefined>(undefined)
  const canPutOut = may('admin') && members.mesh.root_node_id === nodeId && members.members.length > 1
  const columns: readonly Column<Member>[] = [
    {
      key: 'name',
      title: t('mesh.link.name'),
      cell: ({ name }) => name,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    {
      key: 'role',
      title: t('mesh.member.role'),
      cell: ({ node_id: id, is_root: isRoot }) =>
        [isRoot ? t('mesh.member.root') : '', id === nodeId ? t('mesh.member.this') : '']
          .filter((text) => text !== '')
          .join(', ') || '–',
    },
    { key: 'address', title: t('mesh.link.address'), cell: (member) => member.overlay_address },
    {
      key: 'joined',
      title: t('mesh.member.joined'),
      isWide: true,
      cell: (member) => <Time at={member.joined_at} />,
    },
    {
      key: 'offers',
      title: t('mesh.member.offers'),
      isWide: true,
      cell: ({ wireguard }) => wireguard?.advertised.join(', ') || '–',
    },
    ...(canPutOut
      ? [
          {
            key: 'out',
            title: t('mesh.member.change'),
            cell: (member: Member) =>
              member.node_id === nodeId ? (
                ''
              ) : (
                <Button
                  kind="quiet"
                  onClick={() => setLeaving(member)}
                  label={t('mesh.putOut.of', { name: member.name })}
                >
                  {t('mesh.putOut')}
                </Button>
              ),
          },
        ]
      : []),
  ]
  return (
    <section aria-labelledby="mesh-members">
      <h2 id="mesh-members">{t('mesh.members', { name: members.mesh.name })}</h2>
      <DataTable
        label={t('mesh.members', { name: members.mesh.name })}
        rows={members.members}
        columns={columns}
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
