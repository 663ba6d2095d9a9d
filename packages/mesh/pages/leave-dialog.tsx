import { api, FormDialog, t, toast } from '@steeple/console/kit'

/** Asks before a box leaves the mesh, or is put out of it, and says what that costs. */
export function LeaveDialog({
  nodeId,
  name,
  isOwn,
  onClose,
  onDone,
}: {
  readonly nodeId: string
  readonly name: string
  /** Whether it is this box that leaves. */
  readonly isOwn: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const whose = isOwn ? 'leave' : 'putOut'
  return (
    <FormDialog
      text={`mesh.${whose}`}
      values={{ name }}
      isDanger
      act={() => api.post('/v1/nodes/{id}/leave', { path: { id: nodeId } })}
      onDone={({ root_told: isKnown }) => {
        toast({
          text: t(isKnown ? 'mesh.left' : 'mesh.left.untold', { name }),
          tone: isKnown ? 'ok' : 'warn',
        })
        onDone()
        onClose()
      }}
      onClose={onClose}
    >
      <ul>
        <li>{t(`mesh.${whose}.links`)}</li>
        <li>{t('mesh.leave.certificates')}</li>
        <li>{t('mesh.leave.routes')}</li>
        <li>{t(`mesh.${whose}.back`)}</li>
      </ul>
    </FormDialog>
  )
}
