import { api, ConfirmDialog, t, toast, useAction } from '@steeple/console/kit'

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
  const leave = useAction(() => api.post('/v1/nodes/{id}/leave', { path: { id: nodeId } }))
  const go = async (): Promise<void> => {
    const result = await leave.run()
    if (result?.ok !== true) return
    const isKnown = result.data.root_told
    toast({ text: t(isKnown ? 'mesh.left' : 'mesh.left.untold', { name }), tone: isKnown ? 'ok' : 'warn' })
    onDone()
    onClose()
  }
  const whose = isOwn ? 'leave' : 'putOut'
  return (
    <ConfirmDialog
      isOpen
      title={t(`mesh.${whose}.title`, { name })}
      confirm={t(`mesh.${whose}`)}
      isDanger
      isBusy={leave.isBusy}
      error={leave.error}
      onConfirm={() => void go()}
      onClose={onClose}
    >
      <ul>
        <li>{t(`mesh.${whose}.links`)}</li>
        <li>{t('mesh.leave.certificates')}</li>
        <li>{t('mesh.leave.routes')}</li>
        <li>{t(`mesh.${whose}.back`)}</li>
      </ul>
    </ConfirmDialog>
  )
}
