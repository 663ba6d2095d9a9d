import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'

/** Changes the WireGuard key of this box; what waits for whom stands on the page. */
export function RotateDialog({
  isUnderWay,
  onClose,
  onDone,
}: {
  /** Whether a next key exists already. */
  readonly isUnderWay: boolean
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [isForced, setForced] = useState(false)
  const rotate = useAction(() => api.post('/v1/peers/rotate', { body: isForced ? { force: true } : {} }))
  const go = async (): Promise<void> => {
    const result = await rotate.run()
    if (result?.ok !== true) return
    const { waiting_for: names } = result.data
    toast({
      text: names.length === 0 ? t('mesh.rotated') : t('mesh.key.waiting', { names: names.join(', ') }),
    })
    onDone()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('mesh.do.rotate')}
      confirm={t('mesh.rotate.go')}
      isBusy={rotate.isBusy}
      error={rotate.error}
      onConfirm={() => void go()}
      onClose={onClose}
    >
      <p>{t(isUnderWay ? 'mesh.rotate.underWay' : 'mesh.rotate.what')}</p>
      <Checkbox
        label={t('mesh.rotate.force')}
        help={t('mesh.rotate.force.help')}
        isChecked={isForced}
        onChange={setForced}
      />
    </ConfirmDialog>
  )
}
