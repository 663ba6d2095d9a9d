import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'
import type { SimDialogProps } from './cut.ts'

/** Erases what is known of the holder of a SIM, after its hash was typed. */
export function ForgetDialog({ sim, onClose }: SimDialogProps) {
  const hash = sim.imsi_sha256_12
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [isRevoking, setRevoking] = useState(false)
  const forget = useAction(() =>
    api.post('/v1/sims/{imsi}/forget', {
      path: { imsi: hash },
      body: {
        ...(isRevoking ? { revoke: true } : {}),
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      },
    }),
  )
  const confirm = async (): Promise<void> => {
    const answer = await forget.run()
    if (answer?.ok !== true) return
    const { waits_for: what } = answer.data
    toast({ text: what === null ? t('sim.forgotten') : t('sim.forgotten.waits', { what }) })
    onClose()
    navigate('/sims')
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('sim.forget.title')}
      confirm={t('sim.forget')}
      isDanger
      isBusy={forget.isBusy}
      isDisabled={typed.trim() !== hash || (sim.state !== 'revoked' && !isRevoking)}
      error={forget.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <div class="stack">
        <p>{t('sim.forget.what')}</p>
        {sim.state === 'revoked' ? null : (
          <Checkbox label={t('sim.forget.revoke')} isChecked={isRevoking} onChange={setRevoking} />
        )}
        <Field
          label={t('sim.forget.reason')}
          help={t('sim.forget.reason.help')}
          maxLength={256}
          value={reason}
          onInput={setReason}
        />
        <Field label={t('sim.forget.type', { hash })} value={typed} onInput={setTyped} />
      </div>
    </ConfirmDialog>
  )
}
