import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf } from '../sims/sim.tsx'
import { cutText, type SimDialogProps, timed, WAIT } from './cut.ts'

/** Ends a SIM for good, after the question. */
export function RevokeDialog({ sim, onClose, onChanged }: SimDialogProps) {
  const [reason, setReason] = useState('')
  const revoke = useAction(() =>
    timed(() =>
      api.post('/v1/sims/{imsi}/revoke', {
        path: { imsi: sim.imsi_sha256_12 },
        query: { wait: WAIT },
        body: reason.trim() === '' ? {} : { reason: reason.trim() },
      }),
    ),
  )
  const confirm = async (): Promise<void> => {
    const answer = await revoke.run()
    if (answer?.ok !== true) return
    toast({ text: cutText('sim.revoked', nameOf(sim), answer.data) })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('sim.revoke.title')}
      confirm={t('sims.bulk.revoke')}
      isDanger
      isBusy={revoke.isBusy}
      error={revoke.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('sim.revoke.what')}</p>
      <Field
        label={t('sims.reason')}
        help={t('sims.reason.help')}
        maxLength={256}
        value={reason}
        onInput={setReason}
      />
    </ConfirmDialog>
  )
}
