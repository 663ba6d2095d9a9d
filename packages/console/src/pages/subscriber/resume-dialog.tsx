import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf } from '../sims/sim.tsx'
import type { SimDialogProps } from './cut.ts'

/** Lifts a suspension that no person has made: of a quota that is used up, or of the policy. */
export function ResumeDialog({ sim, onClose, onChanged }: SimDialogProps) {
  const resume = useAction(() =>
    api.post('/v1/sims/{imsi}/resume', { path: { imsi: sim.imsi_sha256_12 }, body: { override: true } }),
  )
  const confirm = async (): Promise<void> => {
    const answer = await resume.run()
    if (answer?.ok !== true) return
    toast({ text: t('sim.resumed', { name: nameOf(sim) }) })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('sim.resume.title', { who: word('sims.reason', sim.suspend_reason ?? '') })}
      confirm={t('sim.resume.anyway')}
      isBusy={resume.isBusy}
      error={resume.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t(sim.suspend_reason === 'quota' ? 'sim.resume.quota' : 'sim.resume.policy')}</p>
    </ConfirmDialog>
  )
}
