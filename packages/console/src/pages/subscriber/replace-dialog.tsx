import { api } from '../../api/client.ts'
import { has } from '../../api/features.ts'
import { useAction } from '../../api/use-query.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { toast } from '../../ui/toast.tsx'
import { pageOf } from '../sims/sim.tsx'
import type { SimDialogProps } from './cut.ts'

/** Gives the subscriber another card, or an eSIM, in the place of this one. */
export function ReplaceDialog({ sim, onClose }: SimDialogProps) {
  const hash = sim.imsi_sha256_12
  const replace = useAction(() => api.post('/v1/sims', { body: { replaces: hash } }))
  const confirm = async (): Promise<void> => {
    const answer = await replace.run()
    if (answer?.ok !== true) return
    toast({ text: t('sim.replaced') })
    onClose()
    navigate(pageOf(answer.data.first.imsi_sha256_12))
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('sim.replace.title')}
      confirm={t('sim.replace')}
      isDanger
      isBusy={replace.isBusy}
      error={replace.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('sim.replace.what')}</p>
      {has('esim-smdp') ? (
        <p>
          <ButtonLink href={`/esim?do=issue&replaces=${hash}`}>{t('sim.replace.esim')}</ButtonLink>
        </p>
      ) : null}
    </ConfirmDialog>
  )
}
